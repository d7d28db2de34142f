#pragma once

#include <string_view>

#include "whilst/basics/error.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// Tolerances of nonlinear least squares, dimensionless: no scaling of parameters or residuals changes what they mean.
/// J. J. More, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630 (1978).
/// D is the diagonal matrix of the parameters' scales, the lengths of the columns of J.
struct least_squares_tolerances {
  /// Converged where the largest cosine of an angle between r and a column of J is no more. A parameter held at a bound
  /// has no column.
  double gradient = 1e-13;
  /// Converged where the undamped step h is so short that |D h| is no more than this times |D x|.
  double step = 1e-14;
  /// Converged where an undamped step would reduce f by no more than this part of it. Whatever it is: where that part
  /// is lost in the rounding of f, steps are taken as long as each promises much less than the one before, and that is
  /// convergence, too.
  double function = 0;
  /// The first damping, in units of the diagonal of J' J. Larger for a start that may be far off.
  double first_damping = 1e-3;
  /// The first trial is no farther from the start x than |D h| = this times |D x|: the damping grows until it is not.
  /// More's first radius, for which MINPACK takes 100. Infinite for any; nothing is asked of a start at 0.
  double first_step = 10;
};

/// Throws whilst::error on tolerances that cannot be meant; `doing` opens its message.
inline void check_tolerances(std::string_view doing, const least_squares_tolerances& t) {
  if (!(t.gradient >= 0 && t.step >= 0 && t.function >= 0))
    throw error(doing, "a tolerance is negative or not a number", "Give tolerances of 0 or more");
  if (!(t.first_damping > 0 && is_finite(t.first_damping)))
    throw error(doing, "the first damping is not a finite number above 0", "Give one such as 0.001");
  if (!(t.first_step > 0)) throw error(doing, "the first step is not above 0", "Give a part of x, such as 10");
}

}  // namespace whilst
