#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// Records prefix sums: offsets[i] = counts[0] + ... + counts[i - 1], i <= n. A sum beyond 32 bits becomes the largest
/// number that they hold.
void record_offsets(recorder& run, index_type n, const std::int32_t* counts, std::int32_t* offsets,
                    level_memory& scratch);

}  // namespace whilst::multigrid
