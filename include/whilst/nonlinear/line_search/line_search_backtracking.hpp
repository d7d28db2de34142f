#pragma once

#include "whilst/nonlinear/line_search/line_search_settings.hpp"

namespace whilst::line_searches {

/// Shortens the step until the decrease suffices: the next length minimizes the parabola, later the cubic, through the
/// known values, kept between a tenth and a half of the last one. J. E. Dennis, R. B. Schnabel, "Numerical Methods for
/// Unconstrained Optimization and Nonlinear Equations" (1983), algorithm A6.3.1.
struct backtracking {
  double last_step, last_value;  ///< of the previous trial; step 0 if there is none

  WHILST_HD static backtracking begun() { return {0, 0}; }

  WHILST_HD static bool accepts(const line_search_settings& settings, const line_point& origin, const line_point& at) {
    return decreases_enough(settings, origin, at);
  }

  WHILST_HD double next(const line_point& origin, const line_point& at, bool defined) {
    if (!defined) return towards_wall * at.step;
    const double least = last_step > 0 ? of_cubic(origin, at) : of_parabola(origin, at);
    last_step = at.step;
    last_value = at.value;
    return is_finite(least) ? fmin(fmax(least, 0.1 * at.step), 0.5 * at.step) : 0.5 * at.step;
  }

  /// What the tangent at the origin leaves unexplained of a value, over the square of the step.
  WHILST_HD static double bend(const line_point& origin, double step, double value) {
    return (value - origin.value - origin.slope * step) / (step * step);
  }
  WHILST_HD static double of_parabola(const line_point& origin, const line_point& at) {
    return -origin.slope / (2 * bend(origin, at.step, at.value));
  }
  /// The minimizer of f0 + g0 t + b t^2 + a t^3.
  WHILST_HD double of_cubic(const line_point& origin, const line_point& at) const {
    const double now = bend(origin, at.step, at.value), before = bend(origin, last_step, last_value);
    const double a = (now - before) / (at.step - last_step), b = now - a * at.step;
    const double root = sqrt(b * b - 3 * a * origin.slope);
    return b > 0 ? -origin.slope / (b + root) : (root - b) / (3 * a);  // neither form cancels
  }
};

}  // namespace whilst::line_searches
