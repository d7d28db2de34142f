#pragma once

#include "whilst/nonlinear/line_search/line_search_settings.hpp"

namespace whilst::line_searches {

/// J. J. More, D. J. Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM Transactions on
/// Mathematical Software 20 (1994) 286-307: an interval from the best length so far to another one, which comes to
/// contain lengths that satisfy the strong Wolfe conditions, and trials in it by interpolation.
///
/// Beyond the paper: a length where the function is not finite becomes the other end of the interval, with nothing
/// known about it; and values that rounding cannot tell apart count as equal.
struct strong_wolfe {
  line_point best, other;
  double width, width_before;  ///< of the last two intervals
  int bracketed;               ///< the search continues between the two
  int other_known;             ///< value and slope at the other end are finite

  /// Growth from one trial to the next until an interval brackets them.
  static constexpr double least_growth = 1.1, most_growth = 4;
  /// How much two trials must narrow the interval, and how far a trial may go towards its other end.
  static constexpr double shrinkage = 0.66;

  WHILST_HD static strong_wolfe begun(const line_origin& origin) {
    return {
        .best = origin, .other = origin, .width = HUGE_VAL, .width_before = HUGE_VAL, .bracketed = 0, .other_known = 1};
  }

  WHILST_HD static bool accepts(const line_search_settings& settings, const line_origin& origin, const line_point& at) {
    return decreases_enough(settings, origin, at) && fabs(at.slope) <= settings.curvature * fabs(origin.slope);
  }

  /// The next length; one already tried if rounding leaves none.
  WHILST_HD double next(const line_search_settings& settings, const line_origin& origin, line_point at, bool defined) {
    if (!defined) {
      other = {at.step, 0, 0};
      other_known = 0;
      bracketed = 1;
      width = width_before = HUGE_VAL;
      return best.step + towards_wall * (at.step - best.step);
    }
    if (tie(settings, origin, at.value, best.value)) at.value = fmin(at.value, best.value);
    // A rise that may be rounding is no reason to turn back.
    const line_point rounded{at.step, at.value - blur(settings, origin), at.slope};
    const bool enough = decreases_enough(settings, origin, rounded);

    // While values fall, but not enough, f minus its sufficient decrease is what must fall. (The paper's second stage,
    // which drops this, begins where it can no longer happen.)
    const bool tilt = !enough && at.value <= best.value;
    const double by = tilt ? settings.sufficient_decrease * origin.slope : 0;
    const line_point b = tilted(best, by), t = tilted(at, by);
    double step = choose(b, tilted(other, by), t);

    const bool higher = t.value > b.value, turned = turns(b, t);
    if (higher) {
      other = at;
    } else {
      if (turned) other = best;
      best = at;
    }
    if (higher || turned) bracketed = other_known = 1;
    if (!bracketed) return step;

    const double from = fmin(best.step, other.step), to = fmax(best.step, other.step);
    if (to - from >= shrinkage * width_before || !(step > from && step < to)) step = from + 0.5 * (to - from);
    width_before = width;
    width = to - from;
    return step;
  }

 private:
  WHILST_HD static line_point tilted(const line_point& p, double by) {
    return {p.step, p.value - by * p.step, p.slope - by};
  }
  WHILST_HD static bool turns(const line_point& b, const line_point& t) {
    return b.slope < 0 ? t.slope > 0 : t.slope < 0;
  }

  /// Section 4 of the paper: a length from the best point, the other end and the trial.
  WHILST_HD double choose(const line_point& b, const line_point& o, const line_point& t) const {
    const double h = t.step - b.step;
    if (t.value > b.value) {
      // Higher, so a minimum lies between. The cubic knows more than the parabola, but may be too close to the end.
      const double cubic = minimum_of_cubic(b, t);
      const double parabola = b.step + 0.5 * h / (1 + (b.value - t.value) / (b.slope * h));
      return fabs(cubic - b.step) < fabs(parabola - b.step) ? cubic : 0.5 * (cubic + parabola);
    }
    const double line = secant(b.step, b.slope, t.step, t.slope);
    if (turns(b, t)) {
      // Lower, and the slope has changed sign, so a minimum lies between.
      const double cubic = minimum_of_cubic(b, t);
      return fabs(cubic - t.step) >= fabs(line - t.step) ? cubic : line;
    }
    const double shortest = t.step + (b.step > 0 ? least_growth * h : 0), longest = t.step + most_growth * h;
    if (fabs(t.slope) <= fabs(b.slope)) {
      // Lower and flatter: the minimum lies beyond, where the cubic may have none.
      double cubic = minimum_of_cubic(b, t);
      if (!bracketed) {
        if (!((cubic - t.step) * h > 0)) cubic = longest;
        const double farther = fabs(cubic - t.step) > fabs(line - t.step) ? cubic : line;
        return is_finite(farther) ? fmin(fmax(farther, shortest), longest) : longest;
      }
      if (!((cubic - t.step) * h > 0)) cubic = o.step;
      const double nearer = fabs(cubic - t.step) < fabs(line - t.step) ? cubic : line;
      const double limit = t.step + shrinkage * (o.step - t.step);
      return h > 0 ? fmin(nearer, limit) : fmax(nearer, limit);
    }
    // Lower and steeper: only the other end tells how far the minimum is.
    if (!bracketed) return longest;
    return other_known ? minimum_of_cubic(t, o) : t.step + 0.5 * (o.step - t.step);
  }

  /// The minimizer of the cubic through two values and slopes; NaN if there is none.
  WHILST_HD static double minimum_of_cubic(const line_point& p, const line_point& q) {
    const double h = q.step - p.step;
    const double d = p.slope + q.slope - 3 * (q.value - p.value) / h;
    const double size = fmax(fabs(d), fmax(fabs(p.slope), fabs(q.slope)));
    const double e = (d / size) * (d / size) - (p.slope / size) * (q.slope / size);
    const double root = h > 0 ? size * sqrt(e) : -size * sqrt(e);
    return q.step - h * ((q.slope + root - d) / (q.slope - p.slope + 2 * root));
  }
};

}  // namespace whilst::line_searches
