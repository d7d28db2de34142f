#pragma once

#include <limits>

#include "whilst/nonlinear/descent/descent.hpp"

namespace whilst {

template <class T>
inline constexpr double epsilon_of = static_cast<double>(std::numeric_limits<T>::epsilon());

/// The rounding of a sum of squares f = 1/2 |r|^2: residuals are differences of numbers about as large as J x, whose
/// square `size` = x' diag(J'J) x stands for; 0 if unknown.
template <class T>
WHILST_HD double rounding_of_f(double f, double size, const line_search_settings& settings) {
  const double of_r = 4 * epsilon_of<T> * sqrt(fmax(size, 0.0));
  return of_r * (sqrt(2 * fabs(f)) + of_r) + 8 * settings.rounding * fabs(f);
}

/// How much of the gain that the model promised a trial point achieved. Where rounding may hide it in f, slopes at both
/// ends of the step decide, as in W. W. Hager and H. Zhang's approximate Wolfe condition, SIAM J. Optim. 16 (2005).
struct gain_in_region {
  double ratio;
  int hidden;  ///< by rounding of f at the points themselves, not only by that of larger recent values

  WHILST_HD gain_in_region(const descent_state& now, const trial_sums& at, double predicted, double slope, double noise,
                           const line_search_settings& settings) {
    const double gain = now.value - at.f, blur = fmax(noise, 8 * settings.rounding * settings.spread * now.size);
    const bool blurred = predicted <= blur && fabs(gain) <= blur;
    hidden = predicted <= noise && fabs(gain) <= noise;
    ratio = (blurred ? -0.5 * (slope + at.gd) : gain) / predicted;
  }
};

/// Accepts or rejects a trial point, and changes the radius: J. Nocedal and S. J. Wright, Numerical Optimization, 2nd
/// ed. (2006), algorithm 4.1. Step has radius and at_wall, which belong to the judge, predicted (the decrease of the
/// model), slope (g'd), norm and at_boundary; for sums of squares also size, as rounding_of_f needs it.
template <class T, class Step>
struct judge_in_region {
  descent_state* s;
  const descent_settings* settings;
  descent_record* records;
  Step* step;

  WHILST_HD void operator()(const sums<double, trial_sums::number>& total, loop_state& loop) const {
    descent_state now = *s;
    const trial_sums at{total[0], total[1], total[2], total[3], total[4], total[5]};
    decide(now, at, loop);
    *s = now;
  }

 private:
  WHILST_HD void decide(descent_state& now, const trial_sums& at, loop_state& loop) const {
    const judge_trial judge{records, *settings};
    if (!judge.begins(now, at, loop)) return;
    if (now.first) {
      step->radius = fmin(fmax(1.0, 0.1 * sqrt(at.xx)), largest_radius);
      step->at_wall = 0;
      judge.accept(now, at, loop);
      return;
    }
    const double predicted = step->predicted;
    if (!(predicted > 0)) {  // the model has no lower point: it is not finite, or overflows
      loop.stop(reason::breakdown);
      return;
    }
    const double noise = rounding_of_f<T>(now.value, size(), settings->search);
    const bool usable = at.usable();
    const gain_in_region gained(now, at, predicted, step->slope, noise, settings->search);
    if (usable && gained.hidden && (step->at_wall || !(gained.ratio > 1e-4))) {  // at a wall, steps lack room
      loop.stop(step->at_wall ? reason::radius_too_small
                              : judge.where_f_is_rounding(now, noise / (8 * settings->search.rounding)));
      return;
    }
    const double ratio = usable ? gained.ratio : -1;
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
      judge.accept(now, at, loop, noise);
    } else if (!(step->radius > 0) || (is_finite(at.xx) && !(step->radius > epsilon_of<T> * sqrt(at.xx)))) {
      loop.stop(reason::radius_too_small);
    }
  }
  static constexpr double largest_radius = 1e100;  ///< its square is a number

  WHILST_HD double size() const {
    if constexpr (requires { step->size; }) {
      return step->size;
    } else {
      return 0;
    }
  }
};

}  // namespace whilst
