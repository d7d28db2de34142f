#pragma once

#include "whilst/nonlinear/line_search/line_search_settings.hpp"

namespace whilst::line_searches {

/// W. W. Hager, H. Zhang, "A new conjugate gradient method with guaranteed descent and an efficient line search", SIAM
/// Journal on Optimization 16 (2005) 170-192: an interval whose low end slopes down and whose high end slopes up,
/// narrowed by pairs of secant steps. The letters L, S, U, B are the paper's.
///
/// A length where the function is not finite counts as too high, and the search retreats farther from it.
struct approximate_wolfe {
  struct end {
    double step, slope;
  };
  /// The purpose of the next trial.
  enum phase : int { growing, cutting, first_secant, second_secant, halving };

  end low, high;                ///< the interval; high is meaningless while growing
  end low_before, high_before;  ///< the interval at the start of the round
  double wall;                  ///< while cutting: where the value is too high or not finite
  int doing;                    ///< a phase

  WHILST_HD static approximate_wolfe begun(const line_origin& origin) {
    const end zero{0, origin.slope};
    return {.low = zero, .high = zero, .low_before = zero, .high_before = zero, .wall = 0, .doing = growing};
  }

  /// T1, the Wolfe conditions; or T2, the same by slopes alone if f were a parabola.
  WHILST_HD static bool accepts(const line_search_settings& settings, const line_origin& origin, const line_point& at) {
    if (!(at.slope >= settings.curvature * origin.slope)) return false;
    const bool flat = at.slope <= (2 * settings.sufficient_decrease - 1) * origin.slope;
    return decreases_enough(settings, origin, at) || (flat && low_enough(settings, origin, at));
  }

  /// The next length; one already tried if rounding leaves none.
  WHILST_HD double next(const line_search_settings& settings, const line_origin& origin, const line_point& at,
                        bool defined) {
    const end here{at.step, at.slope};
    const bool rises = defined && at.slope >= 0, lowers = defined && !rises && low_enough(settings, origin, at);
    if (rises) {
      high = here;
    } else if (lowers) {
      low = here;
    } else {
      wall = at.step;
      doing = cutting;
    }
    if (doing == cutting && !rises) {
      const double part = defined ? settings.cut : towards_wall;
      return low.step + part * (wall - low.step);  // U3; the remaining interval is narrow enough for L2
    }
    if (doing == growing && lowers) return settings.expansion * at.step;  // B3
    if (doing == first_secant) {
      doing = second_secant;
      const double step = rises ? secant_of(high_before, high) : secant_of(low_before, low);  // S2, S3
      if (step > low.step && step < high.step) return step;
    }
    const double middle = low.step + 0.5 * (high.step - low.step);
    if (doing == second_secant && high.step - low.step > settings.shrinkage * (high_before.step - low_before.step)) {
      doing = halving;  // L2
      return middle;
    }
    low_before = low;
    high_before = high;
    const double step = secant_of(low, high);  // S1
    if (step > low.step && step < high.step) {
      doing = first_secant;
      return step;
    }
    doing = halving;
    return middle;
  }

 private:
  WHILST_HD static bool low_enough(const line_search_settings& settings, const line_origin& origin,
                                   const line_point& at) {
    return at.value <= origin.value + fmax(settings.value_slack * fabs(origin.value), blur(settings, origin));
  }
  WHILST_HD static double secant_of(const end& a, const end& b) { return secant(a.step, a.slope, b.step, b.slope); }
};

}  // namespace whilst::line_searches
