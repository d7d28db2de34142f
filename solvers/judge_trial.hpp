#pragma once

#include "solvers/descent_state.hpp"
#include "whilst/control.hpp"

namespace whilst {

/// What is summed at each trial point.
struct trial_sums {
  static constexpr int number = 5;
  double f, gd, gg, dd, xx;  ///< f, g' d, g' g, d' d, x' x
};

/// Has the line search judge a trial point, and tests what was accepted.
struct judge_trial {
  descent_record* records;  ///< as many as the loop's history has
  const descent_settings& settings;

  /// The line search's verdict.
  WHILST_HD void operator()(descent_state& now, const trial_sums& total, loop_state& loop) const {
    if (!begins(now, total, loop)) return;
    if (now.first) {
      accept(now, total, loop);
      return;
    }
    const bool usable = is_finite(total.f) && is_finite(total.gg);
    switch (now.search.judge(settings.search, usable ? total.f : HUGE_VAL, total.gd)) {
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

  /// What is the same whoever judges. False where a verdict was given.
  WHILST_HD bool begins(descent_state& now, const trial_sums& total, loop_state& loop) const {
    now.evaluations += 1;
    now.accepted = 0;
    if (now.first) {
      now.value = total.f;
      now.gradient_norm = now.first_gradient_norm = sqrt(total.gg);
      if (!is_finite(total.f) || !is_finite(total.gg)) return !loop.stop(reason::nan_or_infinity);
    }
    // Lower, and so steep that the gradient's square is no number: it falls ever faster.
    const bool plunges = !now.first && total.f < now.value && total.gg == HUGE_VAL;
    if (total.f < settings.lower_bound || plunges) return !loop.stop(reason::unbounded);
    return true;
  }

  /// The value that a search from the trial point on would begin with.
  WHILST_HD static double value_of(const trial_sums& total) { return total.f; }

  WHILST_HD void accept(descent_state& now, const trial_sums& total, loop_state& loop) const {
    const descent_tolerances& t = settings.tolerances;
    constexpr int most_idle = 10;
    const double gain = now.value - total.f, gradient_norm = sqrt(total.gg);
    const bool gains = now.first || gain > settings.search.rounding * fabs(total.f);
    now.idle = gains || gradient_norm < now.gradient_norm ? 0 : now.idle + 1;
    now.hidden = 0;
    now.accepted = 1;
    now.step_length = now.first ? 0 : now.search.step * sqrt(total.dd);
    now.value = total.f;
    now.gradient_norm = gradient_norm;
    loop.complete_update();
    note(now, loop);
    const reason verdict =
        gradient_norm <= t.gradient || gradient_norm <= t.relative_gradient * now.first_gradient_norm
            ? reason::converged_gradient
        : !now.first && t.step > 0 && now.step_length <= t.step * sqrt(total.xx)   ? reason::converged_step
        : !now.first && t.function > 0 && fabs(gain) <= t.function * fabs(total.f) ? reason::converged_function
        : now.idle >= most_idle                                                    ? reason::converged_function
        : loop.iteration >= loop.limit                                             ? reason::iteration_limit
                                                                                   : reason::running;
    if (verdict != reason::running) {
      loop.stop(verdict);
    } else {
      loop.updating = 1;
    }
  }

  /// The loop's own history has the norms; ours is thinned with it.
  WHILST_HD void note(const descent_state& now, loop_state& loop) const {
    const index_type count = loop.history_count, stride = loop.history_stride;
    loop.residual_norm = now.gradient_norm;
    loop.record(loop.iteration, now.gradient_norm);
    const bool was_halved = loop.history_stride != stride;
    if (!loop.history) return;
    for (index_type k = 0; was_halved && k < count / 2; ++k) records[k] = records[2 * k];
    if (was_halved || loop.history_count != count)
      records[loop.history_count - 1] = {loop.iteration,  now.value,       now.gradient_norm,
                                         now.step_length, now.evaluations, now.inner_iterations,
                                         now.trial_values};
  }

 private:
  /// The search found nothing along d.
  WHILST_HD void give_up(descent_state& now, loop_state& loop) const {
    // Where steps of the usual length gain no more than rounding, x is as good as it gets; but for want of room.
    const bool promises_nothing = now.promise <= 8 * settings.search.rounding * fabs(now.value);
    now.hidden = now.hidden || (promises_nothing && !now.search.at_wall());
    if (now.steepest) {
      loop.stop(now.hidden ? reason::converged_function : reason::line_search_failed);
    } else {
      now.restarts += 1;
      begin_search(now, settings.search, {});
    }
  }
};

}  // namespace whilst
