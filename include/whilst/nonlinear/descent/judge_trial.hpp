#pragma once

#include <limits>

#include "whilst/engine/control/control.hpp"
#include "whilst/nonlinear/descent/descent_state.hpp"

namespace whilst {

/// The sums at each trial point.
struct trial_sums {
  static constexpr int number = 6;
  double f, gd, gg, dd, xx, gx;  ///< f, g' d, g' g, d' d, x' x, g' x

  /// Whether the point is usable. If x is not finite, g'x is not, even if f and g are.
  WHILST_HD bool usable() const { return is_finite(f) && is_finite(gg) && is_finite(gx); }
};

/// The square, but never 0 if v is not: a sum of these is a squared norm, or more. In double for floats.
template <class T>
WHILST_HD double square(double v) {
  constexpr double least = std::numeric_limits<double>::min();
  return sizeof(T) == 8 && v * v < least && v != 0 ? least : v * v;
}

/// Lets the line search judge a trial point, and tests for convergence if it is accepted.
struct judge_trial {
  static constexpr bool may_rise = false;
  descent_record* records;  ///< as many as the loop's history holds
  const descent_settings& settings;

  /// The line search's verdict.
  WHILST_HD void operator()(descent_state& now, const trial_sums& total, loop_state& loop) const {
    if (!begins(now, total, loop)) return;
    const line_search_verdict verdict =
        now.first ? line_search_verdict::accept
                  : now.search.judge(settings.search, total.usable() ? total.f : HUGE_VAL, total.gd);
    switch (verdict) {
      case line_search_verdict::accept:
        accept(now, total, loop);
        break;
      case line_search_verdict::again:
        break;
      case line_search_verdict::failed:
        give_up(now, loop);
        break;
    }
  }

  /// The part that all judges share. False if it gave a verdict, or the start is to be evaluated again.
  WHILST_HD bool begins(descent_state& now, const trial_sums& total, loop_state& loop) const {
    now.evaluations += 1;
    now.accepted = 0;
    if (now.first) {
      now.value = total.f;
      now.gradient_norm = now.first_gradient_norm = sqrt(total.gg);
      if (changes_magnification(now, total)) return false;
      if (!total.usable()) return !loop.stop(reason::nan_or_infinity);
    }
    // Lower, and so steep that the gradient's square overflows: it falls ever faster.
    const bool plunges = !now.first && total.f < now.value && total.gg == HUGE_VAL;
    if (total.f < settings.lower_bound * now.magnification || plunges) return !loop.stop(reason::unbounded);
    return true;
  }

  /// At the start, if the gradient is very small or very large: has the start evaluated again with f and its
  /// derivatives scaled so that the gradient is about 1, as far as f stays finite. `now` holds the start's values in
  /// the old scale, and gets them in the new one. Out of line, like all rare code, to keep a finish's main path short.
  WHILST_NOINLINE WHILST_HD bool changes_magnification(descent_state& now, const trial_sums& total) const {
    const double most = now.magnification == 1 ? 1e60 : 1e4, least = 1 / most;  // the first guess may be rough
    constexpr int far = 600, farthest = 1000;
    const bool vanishes = total.gg < least && total.gg > 0 && now.norm_of_gradient() > settings.tolerances.gradient;
    if (!vanishes && !(total.gg > most)) return false;
    const int before = ilogb(now.magnification), by = total.gg == HUGE_VAL ? -far : -ilogb(total.gg) / 2;
    const int after = before + by < -farthest ? -farthest : before + by > farthest ? farthest : before + by;
    const int change = after - before;
    if (change == 0 || !is_finite(scalbn(total.f, change))) return false;
    now.magnify(scalbn(1.0, after));
    // A cancel or a deadline may come before the start is evaluated again: these are then reported.
    now.value = scalbn(now.value, change);
    now.gradient_norm = scalbn(now.gradient_norm, change);
    now.first_gradient_norm = scalbn(now.first_gradient_norm, change);
    return true;
  }

  /// The value that a search from the trial point would begin with.
  WHILST_HD static double value_of(const trial_sums& total) { return total.f; }

  /// `noise`: how much of a gain may be rounding, if known to be more than for an ordinary sum.
  WHILST_HD void accept(descent_state& now, const trial_sums& total, loop_state& loop, double noise = 0) const {
    const descent_tolerances& t = settings.tolerances;
    const double gain = now.value - total.f, gradient_norm = sqrt(total.gg);
    const double of_sum = settings.search.rounding * settings.search.spread * fabs(total.f);
    const bool gains = now.first || gain > fmax(noise, of_sum);
    // In a trust region, where noise is given, ||g|| falls from step to step; along lines it goes up and down.
    const bool falls = gradient_norm < (noise > 0 ? now.lowest_norm : now.gradient_norm);
    now.idle = gains || falls ? 0 : now.idle + 1;
    now.lowest_norm = now.first ? gradient_norm : fmin(now.lowest_norm, gradient_norm);
    now.hidden = 0;
    now.accepted = 1;
    now.step_length = now.first ? 0 : now.search.step * sqrt(total.dd);
    now.value = total.f;
    now.gradient_norm = gradient_norm;
    if (now.first) now.first_size = fabs(total.f);
    now.of_x = fabs(total.f) > now.first_size ? gradient_norm * sqrt(total.xx) : fabs(total.gx);
    constexpr double eta = 0.7;
    now.size = eta * now.size + (1 - eta) * fabs(total.f);
    loop.complete_update();
    note(now, loop, now.value_of_f());
    // One test on the common path.
    const bool goes_on = (now.norm_of_gradient() > t.gradient) &
                         (gradient_norm > t.relative_gradient * now.first_gradient_norm) & !(t.step > 0) &
                         !(t.function > 0) & (now.idle < most_idle) & (loop.iteration < loop.limit);
    if (goes_on) [[likely]] {
      loop.updating = 1;
    } else {
      end(now, total, gain, loop);
    }
  }

  /// The verdict where rounding hides any further decrease of f; `size` sets the scale of that rounding if larger than
  /// f. It is convergence if rounding of x matters less.
  WHILST_HD static reason where_f_is_rounding(const descent_state& now, double size = 0) {
    const double of_f = fmax(fmax(fabs(now.value), now.size), size);
    return now.of_x <= 0.5 * of_f ? reason::converged_function : reason::attainable_accuracy;
  }

  /// The loop's own history holds the norms; ours is thinned with it. value: in the caller's scale.
  WHILST_HD void note(const descent_state& now, loop_state& loop, double value) const {
    const index_type count = loop.history_count, stride = loop.history_stride;
    const double norm = now.norm_of_gradient();
    loop.residual_norm = norm;
    loop.record(loop.iteration, norm);
    const bool was_halved = loop.history_stride != stride;
    if (!loop.history) return;
    for (index_type k = 0; was_halved && k < count / 2; ++k) records[k] = records[2 * k];
    if (was_halved || loop.history_count != count)
      records[loop.history_count - 1] = {loop.iteration,       value,           norm, now.step_length, now.evaluations,
                                         now.inner_iterations, now.trial_values};
  }

 private:
  static constexpr int most_idle = 10;

  /// Stops the loop if a criterion holds at the accepted point.
  WHILST_NOINLINE WHILST_HD void end(const descent_state& now, const trial_sums& total, double gain,
                                     loop_state& loop) const {
    const descent_tolerances& t = settings.tolerances;
    const reason verdict =
        now.norm_of_gradient() <= t.gradient || now.gradient_norm <= t.relative_gradient * now.first_gradient_norm
            ? reason::converged_gradient
        : !now.first && t.step > 0 && is_finite(total.xx) && now.step_length <= t.step * sqrt(total.xx)
            ? reason::converged_step
        : !now.first && t.function > 0 && fabs(gain) <= t.function * fabs(total.f) ? reason::converged_function
        : now.idle >= most_idle                                                    ? where_f_is_rounding(now)
        : loop.iteration >= loop.limit                                             ? reason::iteration_limit
                                                                                   : reason::running;
    if (verdict != reason::running) {
      loop.stop(verdict);
    } else {
      loop.updating = 1;
    }
  }

  /// The search found nothing along d.
  WHILST_NOINLINE WHILST_HD void give_up(descent_state& now, loop_state& loop) const {
    // If full steps gain no more than rounding, x is as good as it gets; unless they are short for want of room.
    const bool promises_nothing = now.promise <= hidden_gain(now.value, settings.search);
    now.hidden = now.hidden || (promises_nothing && !now.search.at_wall());
    if (now.steepest) {
      loop.stop(now.hidden ? where_f_is_rounding(now) : reason::line_search_failed);
    } else {
      now.restarts += 1;
      begin_search_along_gradient(now, settings.search);
    }
  }
};

}  // namespace whilst
