#pragma once

#include "benchmarks/overheads/timing.hpp"

namespace overheads {

/// Entries that each step of the loop works on.
constexpr index_type step_loop_size = 1024;

/// Times a loop of `steps` steps, each y[i] += 1 over step_loop_size entries, the last one with a finish that counts.
/// By the wall clock. Checks y, and throws whilst::error if it is wrong.
timing time_step_loop(const way& how, int steps, double budget);

}  // namespace overheads
