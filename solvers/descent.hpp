#pragma once

#include "solvers/line_search.hpp"
#include "whilst/control.hpp"
#include "whilst/views.hpp"

namespace whilst {

/// When a minimization has converged. Each test is off where its number is 0.
struct descent_tolerances {
  /// Converged where ||g||_2 is no more than this,
  double gradient = 1e-8;
  /// or no more than this times the first one.
  double relative_gradient = 0;
  /// Converged where an accepted step was no longer than this times ||x||_2.
  double step = 0;
  /// Converged where an accepted step reduced f by no more than this times |f|. Whatever it is: a minimization has
  /// converged, too, where rounding hides all that the line search could gain.
  double function = 0;
};

/// What a launch tells a minimization.
struct descent_settings {
  descent_tolerances tolerances;
  line_search_settings search;
  /// A value below this means that f has no minimum.
  double lower_bound = -1e300;
};
static_assert(sizeof(descent_settings) % 8 == 0);

/// One line of the history of a minimization: after `iteration` accepted steps.
struct descent_record {
  index iteration;
  double value, gradient_norm;
  double step_length;      ///< ||s||_2 of the last step
  index evaluations;       ///< of f and g, since the beginning
  index inner_iterations;  ///< likewise
};

/// What a minimization knows between its steps, in the memory of its place. Numbers belong to x where they do not say
/// that they belong to the trial point.
struct descent_state {
  double value, gradient_norm, first_gradient_norm;
  double slope;        ///< g' d
  double step_length;  ///< ||s||_2 of the step that led to x
  double promise;      ///< what the search's first length would gain if f were linear
  double trial_value;  ///< written by the objective
  line_search search;
  index evaluations, restarts, inner_iterations;
  /// The trial point is to be the new x: a new direction is wanted.
  int accepted;
  /// There is no x yet; the trial point is the start.
  int first;
  /// The direction is that of steepest descent: the first one, and where another did not lead down.
  int steepest;
};

/// The vectors of a minimization, n entries each.
template <class T>
struct descent_vectors {
  index n;
  T *x, *gradient;            ///< the point, and the gradient there
  T *trial, *trial_gradient;  ///< the trial point, x + step d, and the gradient there
  T* d;                       ///< the direction

  WHILST_HD descent_vectors(index n, workspace& memory)
      : n(n),
        x(memory.take<T>(n)),
        gradient(memory.take<T>(n)),
        trial(memory.take<T>(n)),
        trial_gradient(memory.take<T>(n)),
        d(memory.take<T>(n)) {}
};

/// What is wanted of each entry of an evaluation: its share of g' d, g' g, d' d and x' x.
using descent_sums = sums<double, 4>;
template <class T>
WHILST_HD descent_sums share_of_trial(T gradient, T d, T x) {
  const double g = gradient, di = d, xi = x;
  return {g * di, g * g, di * di, xi * xi};
}

/// What a method proposes for an accepted point: g' d, and the length to try first. None: steepest descent.
struct proposal {
  double slope = 0, first_step = 0;
};

/// Begins the search for a length along a direction, or along steepest descent where it does not lead down.
WHILST_HD inline void begin_search(descent_state& now, const line_search_settings& settings, const proposal& chosen) {
  now.steepest =
      !(chosen.slope < 0 && is_finite(chosen.slope) && chosen.first_step > 0 && is_finite(chosen.first_step));
  now.slope = now.steepest ? -now.gradient_norm * now.gradient_norm : chosen.slope;
  // Nothing is known of a length along steepest descent but that it should not move x by more than about 1.
  const double length = now.steepest ? fmin(1.0, 1 / now.gradient_norm) : chosen.first_step;
  now.promise = -now.slope * length;
  now.search.begin(settings, now.value, now.slope, length);
}

/// What the finish does that chooses the direction: nothing where the trial point was not accepted; else it begins the
/// search along what choose(state) proposes. state.first and state.steepest still tell how x was reached.
template <class Choose>
WHILST_HD void change_direction(descent_state* s, const descent_settings& settings, const Choose& choose) {
  if (!s->accepted) return;
  descent_state now = *s;
  const proposal chosen = choose(now);
  begin_search(now, settings.search, chosen);
  now.first = 0;
  *s = now;
}

/// The finish of an evaluation: has the line search judge the trial point, and tests what was accepted.
struct judge_trial {
  descent_state* s;
  const descent_settings* settings;
  descent_record* records;  ///< as many as the loop's history has

  WHILST_HD void operator()(const descent_sums& total, loop_state& loop) const {
    descent_state now = *s;
    judge(now, total, loop);
    *s = now;
  }

 private:
  WHILST_HD void judge(descent_state& now, const descent_sums& total, loop_state& loop) const {
    const double value = now.trial_value, gradient_norm = sqrt(total[1]);
    const bool usable = is_finite(value) && is_finite(gradient_norm);
    now.evaluations += 1;
    now.accepted = 0;
    if (now.first && !usable) {
      loop.stop(reason::nan_or_infinity);
      return;
    }
    if (value < settings->lower_bound) {
      loop.stop(reason::unbounded);
      return;
    }
    if (now.first) {
      now.first_gradient_norm = gradient_norm;
      accept(now, value, gradient_norm, total, loop);
      return;
    }
    switch (now.search.judge(settings->search, usable ? value : HUGE_VAL, total[0])) {
      case line_search_verdict::accept:
        accept(now, value, gradient_norm, total, loop);
        break;
      case line_search_verdict::again:
        break;
      case line_search_verdict::failed:
        give_up(now, loop);
        break;
    }
  }

  WHILST_HD void accept(descent_state& now, double value, double gradient_norm, const descent_sums& total,
                        loop_state& loop) const {
    const descent_tolerances& t = settings->tolerances;
    const double gain = now.value - value;
    now.accepted = 1;
    now.step_length = now.first ? 0 : now.search.step * sqrt(total[2]);
    now.value = value;
    now.gradient_norm = gradient_norm;
    loop.complete_update();
    note(now, loop);
    const reason verdict = gradient_norm <= t.gradient || gradient_norm <= t.relative_gradient * now.first_gradient_norm
                               ? reason::converged_gradient
                           : !now.first && now.step_length <= t.step * sqrt(total[3]) ? reason::converged_step
                           : !now.first && t.function > 0 && fabs(gain) <= t.function * fabs(value)
                               ? reason::converged_function
                           : loop.iteration >= loop.limit ? reason::iteration_limit
                                                          : reason::running;
    if (verdict != reason::running) {
      loop.stop(verdict);
    } else {
      loop.updating = 1;
    }
  }

  /// The search found nothing along d.
  WHILST_HD void give_up(descent_state& now, loop_state& loop) const {
    // Where a step of the usual length gains no more than rounding, x is as good as it gets.
    constexpr double rounding = 64 * 2.3e-16;
    if (now.promise <= rounding * fabs(now.value)) {
      loop.stop(reason::converged_function);
    } else if (now.steepest) {
      loop.stop(reason::line_search_failed);
    } else {
      now.restarts += 1;
      begin_search(now, settings->search, {});
    }
  }

  /// The loop's own history has the norms; ours is thinned with it.
  WHILST_HD void note(const descent_state& now, loop_state& loop) const {
    const index count = loop.history_count, stride = loop.history_stride;
    loop.residual_norm = now.gradient_norm;
    loop.record(loop.iteration, now.gradient_norm);
    const bool was_halved = loop.history_stride != stride;
    if (was_halved) halve(records, count);
    if (was_halved || loop.history_count != count)
      records[loop.history_count - 1] = {loop.iteration,  now.value,       now.gradient_norm,
                                         now.step_length, now.evaluations, now.inner_iterations};
  }
};

/// Goes to the accepted point, if the trial was one, makes the direction, and from both the next trial point.
template <class T, class Direction>
struct move_on {
  Direction direction;
  descent_vectors<T> v;
  const descent_state* s;

  WHILST_HD void operator()(index i) const {
    T xi = v.x[i], di = v.d[i], gi = v.gradient[i];
    if (s->accepted) {
      const T trial = v.trial[i];
      gi = v.trial_gradient[i];
      if (!s->steepest) di = direction.entry(i, gi, trial - xi, di);
      xi = trial;
      v.x[i] = xi;
      v.gradient[i] = gi;
    }
    if (s->steepest) di = -gi;
    v.d[i] = di;
    v.trial[i] = xi + static_cast<T>(s->search.step) * di;
  }
};

}  // namespace whilst
