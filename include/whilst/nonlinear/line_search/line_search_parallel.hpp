#pragma once

#include "whilst/nonlinear/line_search/line_search_settings.hpp"

namespace whilst::line_searches {

/// What is known of f at a fan's lengths: numbers in memory, and the factor that scales them.
struct fan_values {
  const double* of_f;
  double magnification = 1;
  WHILST_HD double operator[](int k) const { return magnification * of_f[k]; }
};

/// Many lengths at once: f is evaluated at a whole fan of them before one is chosen, and gradients at the chosen one
/// only. Each length is half of the one before; the usual one, which the method proposes, is the third.
///
/// Of the lengths with sufficient decrease (Armijo's condition; see J. Nocedal, S. J. Wright, Numerical Optimization,
/// 2nd ed. (2006), section 3.1) the search takes the one with the lowest value: the longest may gain next to nothing,
/// as twice the way to the minimum of a parabola does. If rounding blurs which is the lowest, it takes the usual one,
/// as quasi-Newton methods want near a minimum. A value that is not finite means that the length is too long. If no
/// length suffices, the next fan lies below this one; if the longest is the best and the function still falls steeply
/// there, above it, but only once: the next direction may know more. If rounding hides all values, slopes at the usual
/// length lead to the next fan.
struct parallel {
  static constexpr int lengths = 8, usual = 2, none = -1;
  double length[lengths];  ///< longest first
  int chosen;              ///< its index; none: none of them
  int went_up;             ///< there has been a fan above the first one
  int at_wall;             ///< a value was not finite

  WHILST_HD static parallel begun(const line_search_settings& settings, double first_step) {
    parallel fan;
    fan.went_up = fan.at_wall = 0;
    fan.spread_around(settings, first_step);
    return fan;
  }

  /// Which length to go to, given the values at all of them: one lower than any length known already, if there is one.
  WHILST_HD int best(const line_search_settings& settings, const line_origin& origin, bool has_lowest, double lowest,
                     const fan_values& values) const {
    int at = none;
    double least = has_lowest ? lowest : HUGE_VAL;
    for (int k = 0; k < lengths; ++k) {
      const double value = values[k];
      if (!is_finite(value) || !(value < least) || !decreases_enough(settings, origin, {length[k], value, 0})) continue;
      at = k;
      least = value;
    }
    if (at == none && has_lowest) return none;
    // Lower only by rounding, or not at all: the slope at the usual length tells more.
    return tie(settings, origin, values[usual], at == none ? origin.value : least) ? usual : at;
  }

  /// Where a length leads: to itself. But a fan may leave up to a third of a parabola's slope; if less is allowed, to
  /// the minimum of the parabola through its value and its neighbours', if both are higher.
  WHILST_HD double refined(const line_search_settings& settings, const line_origin& origin, int k,
                           const fan_values& values) const {
    constexpr double left = 1.0 / 3;
    if (settings.curvature >= left || k == 0 || k + 1 == lengths) return length[k];
    const double by_longer = values[k - 1] - values[k], by_shorter = values[k + 1] - values[k];
    const double least = blur(settings, origin);
    if (!(by_longer > least && by_longer < HUGE_VAL && by_shorter > least && by_shorter < HUGE_VAL)) return length[k];
    return length[k] * (1 + 0.5 * (by_shorter - 0.25 * by_longer) / (by_shorter + 0.5 * by_longer));
  }

  WHILST_HD bool accepts(const line_search_settings& settings, const line_origin& origin, const line_point& at) const {
    const bool falls = at.slope < settings.curvature * origin.slope;
    return decreases_enough(settings, origin, at) && !(may_go_up() && falls);
  }

  /// The usual length of the next fan.
  WHILST_HD double next(const line_search_settings& settings, const line_origin& origin, const line_point& at,
                        bool defined) {
    const bool longer = defined && may_go_up() && decreases_enough(settings, origin, at);
    // Where rounding hides the values, slopes improve the length.
    const double by_slopes = secant(0, origin.slope, at.step, at.slope);
    const bool blurred = defined && tie(settings, origin, at.value, origin.value) && by_slopes > 0.1 * at.step &&
                         by_slopes < 10 * at.step;
    if (longer) {
      went_up = 1;
      spread_down_from(settings, at.step * (1 << lengths));
    } else if (blurred) {
      spread_around(settings, by_slopes);
    } else {
      spread_down_from(settings, 0.5 * at.step);
    }
    return length[usual];
  }

 private:
  WHILST_HD bool may_go_up() const { return chosen == 0 && !went_up; }
  WHILST_HD void spread_around(const line_search_settings& settings, double step) {
    spread_down_from(settings, step * (1 << usual));
  }
  WHILST_HD void spread_down_from(const line_search_settings& settings, double longest) {
    chosen = none;
    double step = fmin(fmax(longest, settings.shortest * (1 << lengths)), settings.longest);
    for (int k = 0; k < lengths; ++k, step *= 0.5) length[k] = step;
  }
};

}  // namespace whilst::line_searches
