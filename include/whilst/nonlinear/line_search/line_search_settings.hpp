#pragma once

#include <cmath>
#include <type_traits>

#include "whilst/basics/host_device.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// How a step length is found, and what it must satisfy.
enum class line_search_kind : int {
  backtracking,       ///< sufficient decrease; only shortens the first length
  strong_wolfe,       ///< sufficient decrease and |slope| reduced; More and Thuente (1994)
  approximate_wolfe,  ///< the same, by slopes where rounding blurs the values; Hager and Zhang (2005)
  parallel            ///< sufficient decrease, the best of a fan of lengths evaluated together
};

/// Line search settings chosen on the host. Requires 0 < sufficient_decrease < 1/2, sufficient_decrease < curvature <
/// 1, 0 < shortest <= longest.
struct line_search_settings {
  line_search_kind kind = line_search_kind::strong_wolfe;
  /// Limit on evaluations per search, of f and its slope; in a parallel search a fan precedes each.
  int most_trials = 40;
  /// The fraction of the gain that the first slope promises which a step must achieve (Armijo's constant).
  double sufficient_decrease = 1e-4;
  /// The fraction of the first slope that may remain at the end of a step (Wolfe's constant); backtracking ignores it,
  /// parallel checks it only where the longest length of a fan is the best.
  double curvature = 0.9;
  /// Bounds on the step length; a step of the longest length need not satisfy the curvature condition.
  double shortest = 1e-280, longest = 1e280;
  /// The relative error of values, with respect to line_origin::size: values closer than this are indistinguishable,
  /// and their slopes decide.
  double rounding = 2e-15;
  /// Worst-case factor on that error for a function of many terms.
  double spread = 1;
  /// approximate_wolfe only, the paper's epsilon: the fraction of the first value by which a step may raise it.
  double value_slack = 1e-6;
  /// approximate_wolfe only, the paper's theta: where to cut an interval whose far end is too high; between 1 -
  /// shrinkage and shrinkage.
  double cut = 0.5;
  /// approximate_wolfe only, the paper's gamma: an interval that keeps more than this fraction of its width is halved.
  double shrinkage = 0.66;
  /// approximate_wolfe only, the paper's rho: growth factor of a length that is too short.
  double expansion = 5;

  /// The defaults for a kind.
  static constexpr line_search_settings usual(line_search_kind kind) {
    line_search_settings settings;
    settings.kind = kind;
    if (kind == line_search_kind::approximate_wolfe) settings.sufficient_decrease = 0.1;
    return settings;
  }
};
static_assert(sizeof(line_search_settings) % 8 == 0 && std::is_trivially_copyable_v<line_search_settings>);

/// The function along the line, at one step length.
struct line_point {
  double step, value, slope;
};
/// Where a search begins, and the recent magnitude of the function's values, which sets their rounding: a difference of
/// large numbers may come out as 0.
struct line_origin : line_point {
  double size;
};

namespace line_searches {

/// The next length, as a fraction of the way from the best one to one where the function is not finite.
inline constexpr double towards_wall = 0.2;

/// Armijo's condition. On the difference of the values: added to a value, a small demand would vanish and let a tie
/// pass, and with it a step too short to change anything.
WHILST_HD inline bool decreases_enough(const line_search_settings& settings, const line_point& origin,
                                       const line_point& at) {
  return at.value - origin.value <= settings.sufficient_decrease * at.step * origin.slope;
}

/// How much of a difference of values may be rounding.
WHILST_HD inline double blur(const line_search_settings& settings, const line_origin& origin) {
  return settings.rounding * settings.spread * origin.size;
}
/// Whether rounding alone could explain the difference of two values.
WHILST_HD inline bool tie(const line_search_settings& settings, const line_origin& origin, double a, double b) {
  return fabs(a - b) <= blur(settings, origin);
}

/// Where the line through two slopes is zero; not finite if they are equal. Starts from the end with the smaller slope,
/// since a far end would lose all digits.
WHILST_HD inline double secant(double a, double slope_a, double b, double slope_b) {
  const double run = (b - a) / (slope_b - slope_a);
  return fabs(slope_a) < fabs(slope_b) ? a - slope_a * run : b - slope_b * run;
}

}  // namespace line_searches
}  // namespace whilst
