#pragma once

#include <string_view>

#include "whilst/basics/error.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// Tolerances of nonlinear least squares, dimensionless: scaling parameters or residuals does not change their meaning.
/// J. J. More, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630 (1978).
/// D is the diagonal matrix of the parameters' scales, the lengths of the columns of J.
struct least_squares_tolerances {
  /// Converged if no cosine of an angle between r and a column of J is larger. A parameter held at a bound has no
  /// column.
  double gradient = 1e-13;
  /// Converged if |D h| of the undamped step h is at most this times |D x|.
  double step = 1e-14;
  /// Converged if an undamped step would reduce f by at most this fraction. Whatever the value: once the reduction is
  /// lost in the rounding of f, steps continue as long as each promises much less than the one before, and then the fit
  /// has converged too.
  double function = 0;
  /// The first damping, in units of the diagonal of J' J. Choose it larger for a start that may be far off.
  double first_damping = 1e-3;
  /// The first trial is no farther from the start x than |D h| = this times |D x|: the damping grows until this holds.
  /// More's first radius, for which MINPACK takes 100. Infinite for no limit; a start at 0 has none.
  double first_step = 10;
};

/// Throws whilst::error on tolerances that make no sense; `doing` opens its message.
inline void check_tolerances(std::string_view doing, const least_squares_tolerances& t) {
  if (!(t.gradient >= 0 && t.step >= 0 && t.function >= 0))
    throw error(doing, "a tolerance is negative or not a number", "Give tolerances of 0 or more");
  if (!(t.first_damping > 0 && is_finite(t.first_damping)))
    throw error(doing, "the first damping is not a finite number above 0", "Give one such as 0.001");
  if (!(t.first_step > 0)) throw error(doing, "the first step is not above 0", "Give a part of x, such as 10");
}

}  // namespace whilst
