#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/reason.hpp"

namespace whilst {

/// How a solve ended, as its last step writes it: see ticket::outcome. For minimizations and nonlinear equations the
/// norms are those in their reports.
struct solve_outcome {
  index_type iterations = 0;  ///< completed updates, including those that overflowed and were undone
  double residual_norm = 0;
  double rhs_norm = 0;
  double normal_residual_norm = 0;     ///< of methods with products with the transpose: see report
  double removed_norm = 0;             ///< with a null space: see report
  std::uint64_t nanoseconds = 0;       ///< from the first to the last step
  std::uint64_t loop_nanoseconds = 0;  ///< within the method's own loop
  index_type history_count = 0;        ///< records in its history
  std::uint64_t launch = 0;            ///< the solver's number for this solve; written last
  reason why = reason::running;
};

/// Written last: whoever polls for the launch's number then finds the rest in place.
WHILST_HD inline void announce(solve_outcome& outcome, std::uint64_t launch) {
#if defined(__CUDA_ARCH__)
  __threadfence_system();
  const_cast<volatile std::uint64_t&>(outcome.launch) = launch;
#else
  outcome.launch = launch;
#endif
}

}  // namespace whilst
