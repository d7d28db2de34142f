#pragma once

#include <limits>

#include "solvers/descent.hpp"

namespace whilst {

template <class T>
inline constexpr double epsilon_of = static_cast<double>(std::numeric_limits<T>::epsilon());

/// What rounding does to a sum of squares f = 1/2 |r|^2: residuals are differences of numbers as large as J x, about,
/// whose square `size` stands for, x' diag(J'J) x; 0 where it is not known.
template <class T>
WHILST_HD double rounding_of_f(double f, double size, const line_search_settings& settings) {
  const double of_r = 4 * epsilon_of<T> * sqrt(fmax(size, 0.0));
  return of_r * (sqrt(2 * fabs(f)) + of_r) + 8 * settings.rounding * fabs(f);
}

/// Accepts or rejects a trial point, and changes the radius: J. Nocedal and S. J. Wright, Numerical Optimization, 2nd
/// ed. (2006), algorithm 4.1. Step has radius and at_wall, which are the judge's, predicted (by how much the model
/// falls), norm and at_boundary; for sums of squares also size, as rounding_of_f wants it.
template <class T, class Step>
struct judge_in_region {
  descent_state* s;
  const descent_settings* settings;
  descent_record* records;
  Step* step;

  WHILST_HD void operator()(const sums<double, trial_sums::number>& total, loop_state& loop) const {
    descent_state now = *s;
    const trial_sums at{total[0], total[1], total[2], total[3], total[4]};
    decide(now, at, loop);
    *s = now;
  }

 private:
  WHILST_HD void decide(descent_state& now, const trial_sums& at, loop_state& loop) const {
    const judge_trial judge{records, *settings};
    if (!judge.begins(now, at, loop)) return;
    if (now.first) {
      step->radius = fmax(1.0, 0.1 * sqrt(at.xx));
      step->at_wall = 0;
      judge.accept(now, at, loop);
      return;
    }
    const double gain = now.value - at.f, predicted = step->predicted;
    if (!(predicted > 0)) {  // the model has no lower point: it is not finite, or too large for numbers
      loop.stop(reason::breakdown);
      return;
    }
    const double noise = rounding_of_f<T>(now.value, size(), settings->search);
    const bool usable = is_finite(at.f) && is_finite(at.gg);
    constexpr double largest_radius = 1e100;  // its square is a number
    // Where rounding hides the gain, the gradient tells.
    const bool hidden = usable && predicted <= noise && fabs(gain) <= noise;
    if (hidden && step->at_wall) {  // steps are short for want of room
      loop.stop(reason::radius_too_small);
      return;
    }
    if (hidden && at.gg >= now.gradient_norm * now.gradient_norm) {
      loop.stop(reason::converged_function);
      return;
    }
    const double ratio = !usable ? -1 : hidden ? 1 : gain / predicted;
    step->at_wall = !usable || (step->at_wall && !(ratio > 1e-4));
    if (!(ratio >= 0.25)) {
      step->radius = 0.25 * step->norm;
    } else if (ratio > 0.75 && step->at_boundary) {
      step->radius *= 2;
      if (step->radius > largest_radius) {
        loop.stop(reason::unbounded);
        return;
      }
    }
    if (ratio > 1e-4) {
      judge.accept(now, at, loop);
    } else if (!(step->radius > 0) || (is_finite(at.xx) && !(step->radius > epsilon_of<T> * sqrt(at.xx)))) {
      loop.stop(reason::radius_too_small);
    }
  }
  WHILST_HD double size() const {
    if constexpr (requires { step->size; }) {
      return step->size;
    } else {
      return 0;
    }
  }
};

}  // namespace whilst
