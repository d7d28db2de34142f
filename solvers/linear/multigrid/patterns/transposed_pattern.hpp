#pragma once

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// The transpose of a pattern, each row in order, and for each of its entries the entry of the original.
struct transposed_pattern {
  pattern_view view;
  const std::int32_t* sources = nullptr;
};
/// Records how it is made, in pieces of `kept`.
transposed_pattern record_transpose(recorder& run, const pattern_view& A, level_memory& kept, level_memory& scratch);

}  // namespace whilst::multigrid
