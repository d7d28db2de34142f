#pragma once

#include <string_view>

namespace whilst {

/// Why a loop stopped. Positive: converged; negative: not; zero: still running. The sign convention, and the numbers
/// where both have the case, are those of PETSc's KSPConvergedReason.
enum class reason : int {
  running = 0,
  converged_rtol = 2,
  converged_atol = 3,
  completed = 4,
  converged_gradient = 5,
  converged_step = 6,
  converged_function = 7,
  iteration_limit = -3,
  divergence = -4,
  breakdown = -5,
  indefinite_preconditioner = -8,
  nan_or_infinity = -9,
  indefinite_operator = -10,
  stagnation = -20,
  attainable_accuracy = -21,
  radius_too_small = -22,
  line_search_failed = -23,
  unbounded = -24,
  singular_jacobian = -25,
  deadline = -30,
  cancelled = -31,
  yielded = -32,
};

/// True for the reasons that mean success.
constexpr bool converged(reason why) { return static_cast<int>(why) > 0; }

/// The reason's identifier, as in reports: "converged_rtol", "iteration_limit", ...
std::string_view name(reason why);

/// One sentence for a person, without a final full stop.
std::string_view sentence(reason why);

}  // namespace whilst
