#pragma once

#include <string_view>

namespace whilst {

/// Why a loop stopped. Positive: converged; negative: not; zero: still running. The sign convention, and the numbers
/// where both have the case, are those of PETSc's KSPConvergedReason.
enum class reason : int {
  running = 0,  ///< it has not stopped: wait for it
  /// The residual is orthogonal to the columns of A as far as rtol asks: x is a least-squares solution. Nothing to do.
  converged_normal = 1,
  converged_rtol = 2,      ///< the residual is within rtol of the right-hand side's norm: nothing to do
  converged_atol = 3,      ///< the residual is within atol: nothing to do
  completed = 4,           ///< a loop without a tolerance did what it was asked to: nothing to do
  converged_gradient = 5,  ///< the gradient is within its tolerance: nothing to do
  /// The steps no longer change the unknowns. Look at the gradient: if it is large, scale the unknowns.
  converged_step = 6,
  /// No step promises to lower the function by more than its tolerance. For more digits, lower that.
  converged_function = 7,
  iteration_limit = -3,  ///< the limit came first: raise it, start closer, or precondition
  /// The residual grew beyond dtol times its reference. Try another method or preconditioner, or raise dtol.
  divergence = -4,
  /// A scalar of the method became zero or overflowed: there is no next step. Try another start or method.
  breakdown = -5,
  /// (r, M r) is negative, and the method needs a positive definite M. Use another preconditioner or none, or bicgstab.
  indefinite_preconditioner = -8,
  /// A value is not finite. Look at the matrix, the right-hand side, the start, and where the function is defined.
  nan_or_infinity = -9,
  indefinite_operator = -10,  ///< the matrix is indefinite, and the method needs a definite one: use bicgstab
  /// The method found no step that lowers the residual. Try another start, method or preconditioner.
  stagnation = -20,
  /// Rounding keeps the residual above the tolerance; x is about as good as the precision allows. Raise the tolerance,
  /// or compute in double.
  attainable_accuracy = -21,
  /// No step, however short, lowers the function. Check its derivatives, or raise the tolerance if rounding hides more.
  radius_too_small = -22,
  line_search_failed = -23,  ///< the line search found no step: check the derivatives, scale the unknowns
  unbounded = -24,           ///< the function falls below its bound: it may have no minimum, so check its sign
  /// The Jacobian has no inverse, so there is no Newton step. Start elsewhere, or use another method.
  singular_jacobian = -25,
  deadline = -30,   ///< the time was up: give more, or take x as it is
  cancelled = -31,  ///< somebody cancelled it; x is what it had reached
  yielded = -32,    ///< the loop asks the host for something: provide it, then program::resume
  /// A rank of the group did not come within the limit: see docs/several-gpus.md. Its process may have ended.
  peer_lost = -33,
};

/// True for the reasons that mean success.
constexpr bool converged(reason why) { return static_cast<int>(why) > 0; }

/// The reason's identifier, as in reports: "converged_rtol", "iteration_limit", ...
std::string_view name(reason why);

/// One sentence for a person, without a final full stop.
std::string_view sentence(reason why);

}  // namespace whilst
