#pragma once

#include <cmath>
#include <type_traits>

#include "whilst/basics/host_device.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// How a step length is searched for, and what it must satisfy.
enum class line_search_kind : int {
  backtracking,       ///< sufficient decrease; only ever shorter than the first length
  strong_wolfe,       ///< sufficient decrease and |slope| reduced; More and Thuente (1994)
  approximate_wolfe,  ///< the same by slopes where rounding blurs the values; Hager and Zhang (2005)
  parallel            ///< sufficient decrease, the best of a fan of lengths that are evaluated together
};

/// What the host decides about line searches. Needs 0 < sufficient_decrease < 1/2, sufficient_decrease < curvature < 1,
/// 0 < shortest <= longest.
struct line_search_settings {
  line_search_kind kind = line_search_kind::strong_wolfe;
  /// Most evaluations of one search, of f and its slope; in a parallel one each is preceded by a fan.
  int most_trials = 40;
  /// The part of what the first slope promises that a step must gain (Armijo's constant).
  double sufficient_decrease = 1e-4;
  /// The part of the first slope that may be left at the end of a step (Wolfe's constant); backtracking does not ask,
  /// parallel only where the longest length of a fan is its best.
  double curvature = 0.9;
  /// Bounds on the step length; a step as long as the longest need not satisfy the curvature condition.
  double shortest = 1e-280, longest = 1e280;
  /// The relative error of values, of what line_origin::size is: values closer than this cannot be told apart, and
  /// their slopes decide.
  double rounding = 2e-15;
  /// By how much more the values of a function of many terms may err at worst.
  double spread = 1;
  /// approximate_wolfe only, the paper's epsilon: by what part of the first value a step may raise it.
  double value_slack = 1e-6;
  /// approximate_wolfe only, the paper's theta: where an interval whose far end is too high is cut; between
  /// 1 - shrinkage and shrinkage.
  double cut = 0.5;
  /// approximate_wolfe only, the paper's gamma: an interval that keeps more than this part of its width is halved.
  double shrinkage = 0.66;
  /// approximate_wolfe only, the paper's rho: a length that is too short grows by this factor.
  double expansion = 5;

  /// What is usual for a kind.
  static constexpr line_search_settings usual(line_search_kind kind) {
    line_search_settings settings;
    settings.kind = kind;
    if (kind == line_search_kind::approximate_wolfe) settings.sufficient_decrease = 0.1;
    return settings;
  }
};
static_assert(sizeof(line_search_settings) % 8 == 0 && std::is_trivially_copyable_v<line_search_settings>);

/// The function along the line, at one length.
struct line_point {
  double step, value, slope;
};
/// Where a search begins, and how large the function's values have been of late, which is what their rounding goes by:
/// a difference of large numbers may come to 0.
struct line_origin : line_point {
  double size;
};

namespace line_searches {

/// How far the next length is from the best one, of the way to one where the function is not finite.
inline constexpr double towards_wall = 0.2;

/// Armijo's condition. By the difference of the values: their sum with a small demand would let a tie pass, and a step
/// that is too short to change anything with it.
WHILST_HD inline bool decreases_enough(const line_search_settings& settings, const line_point& origin,
                                       const line_point& at) {
  return at.value - origin.value <= settings.sufficient_decrease * at.step * origin.slope;
}

/// How much of a difference of values may be rounding.
WHILST_HD inline double blur(const line_search_settings& settings, const line_origin& origin) {
  return settings.rounding * settings.spread * origin.size;
}
/// Whether rounding alone could be the difference of two values.
WHILST_HD inline bool tie(const line_search_settings& settings, const line_origin& origin, double a, double b) {
  return fabs(a - b) <= blur(settings, origin);
}

/// Where the line through two slopes is zero; not finite where they are equal. From the end with the smaller slope, or
/// a far end would take all digits with it.
WHILST_HD inline double secant(double a, double slope_a, double b, double slope_b) {
  const double run = (b - a) / (slope_b - slope_a);
  return fabs(slope_a) < fabs(slope_b) ? a - slope_a * run : b - slope_b * run;
}

}  // namespace line_searches
}  // namespace whilst
