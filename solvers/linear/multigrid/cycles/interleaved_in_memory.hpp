#pragma once

#include "solvers/linear/multigrid/cycles/interleaved_rows.hpp"
#include "solvers/linear/multigrid/level_memory.hpp"

namespace whilst::multigrid {

/// A matrix that a warp reads, with its memory; records how its columns come in order. On the host that is the one in
/// CSR. values: in CSR. in_halves: in bfloat16.
template <class C>
interleaved_rows<C> interleaved_in_memory(recorder& run, level_memory& memory, const pattern_view& pattern,
                                          const C* values, bool in_halves) {
  interleaved_rows<C> matrix{pattern, values};
  while (1 << matrix.log_lanes < pattern.lanes(24)) ++matrix.log_lanes;
  if (run.where().on_host()) return matrix;
  matrix.columns = memory.take<std::int32_t>(pattern.nonzeros).data();
  if (in_halves) {
    matrix.upper_halves = memory.take<std::uint16_t>(pattern.nonzeros).data();
  } else {
    matrix.values = memory.take<C>(pattern.nonzeros).data();
  }
  matrix.record_columns(run);
  return matrix;
}

}  // namespace whilst::multigrid
