#pragma once

#include "kernels/launch/phases.hpp"
#include "solvers/line_search.hpp"
#include "whilst/control.hpp"
#include "whilst/objective.hpp"
#include "whilst/teams.hpp"
#include "whilst/views.hpp"

namespace whilst {

/// When a minimization has converged. Each test is off where its number is 0. Norms whose squares are no numbers of
/// double precision, below 1e-162 or above 1e154, count as 0 or as not finite.
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
struct alignas(16) descent_settings {
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
struct alignas(16) descent_state {
  double value, gradient_norm, first_gradient_norm;
  double slope;        ///< g' d
  double step_length;  ///< ||s||_2 of the step that led to x
  double promise;      ///< what the search's first length would gain if f were linear
  line_search search;
  index evaluations, restarts, inner_iterations;
  int idle;    ///< accepted steps in a row that gained nothing but rounding
  int hidden;  ///< the direction before this one promised no more than rounding
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

/// What a method proposes for an accepted point: g' d, and the length to try first. None: steepest descent.
struct proposal {
  double slope = 0, first_step = 0;
};

/// Begins the search for a length along a direction, or along steepest descent where it does not lead down.
WHILST_HD inline void begin_search(descent_state& now, const line_search_settings& settings, const proposal& chosen) {
  now.steepest =
      !(chosen.slope < 0 && is_finite(chosen.slope) && chosen.first_step > 0 && is_finite(chosen.first_step));
  now.slope = now.steepest ? -now.gradient_norm * now.gradient_norm : chosen.slope;
  // Nothing is known of a length along steepest descent but that it should not move x by more than about 1, or twice
  // the last step: far out a step of 1 is lost in rounding, which is no sign of a minimum.
  const double length =
      now.steepest ? fmin(1.0, fmax(1.0, 2 * now.step_length) / now.gradient_norm) : chosen.first_step;
  now.promise = -now.slope * length;
  now.search.begin(settings, now.value, now.slope, length);
}

/// How an accepted point was reached.
struct accepted_step {
  double gradient_norm;  ///< there
  double length, slope;  ///< x came from by length * d, where g' d was this
  bool first;            ///< the start, reached by no step at all
  bool steepest;         ///< d was that of steepest descent
};
WHILST_HD inline accepted_step step_of(const descent_state& now) {
  return {now.gradient_norm, now.search.step, now.slope, now.first != 0, now.steepest != 0};
}

/// For a finish that chooses the direction from an accepted point: begins the search along what choose(accepted_step)
/// proposes. Does nothing where the trial point was not accepted.
template <class Choose>
WHILST_HD void change_direction(descent_state* s, const descent_settings& settings, const Choose& choose) {
  if (!s->accepted) return;
  descent_state now = *s;
  begin_search(now, settings.search, choose(step_of(now)));
  now.first = 0;
  *s = now;
}

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

 private:
  /// The search found nothing along d.
  WHILST_HD void give_up(descent_state& now, loop_state& loop) const {
    // Where steps of the usual length gain no more than rounding, x is as good as it gets.
    now.hidden = now.hidden || now.promise <= 8 * settings.search.rounding * fabs(now.value);
    if (now.steepest) {
      loop.stop(now.hidden ? reason::converged_function : reason::line_search_failed);
    } else {
      now.restarts += 1;
      begin_search(now, settings.search, {});
    }
  }

  /// The loop's own history has the norms; ours is thinned with it.
  WHILST_HD void note(const descent_state& now, loop_state& loop) const {
    const index count = loop.history_count, stride = loop.history_stride;
    loop.residual_norm = now.gradient_norm;
    loop.record(loop.iteration, now.gradient_norm);
    const bool was_halved = loop.history_stride != stride;
    for (index k = 0; was_halved && k < count / 2; ++k) records[k] = records[2 * k];
    if (was_halved || loop.history_count != count)
      records[loop.history_count - 1] = {loop.iteration,  now.value,       now.gradient_norm,
                                         now.step_length, now.evaluations, now.inner_iterations};
  }
};

/// Of directions that keep no numbers between iterations, or none that their choice has to read.
struct nothing_kept {};

/// A direction that needs nothing but sums at the trial point: it says how many `products` it wants.
template <class Direction>
concept chosen_by_products = requires {
  Direction::products;
};
template <class Direction>
constexpr int products_of() {
  if constexpr (chosen_by_products<Direction>) {
    return Direction::products;
  } else {
    return 0;
  }
}

/// A direction that is a step at the same time, as long as a trust region allows: its own judge takes the place of the
/// line search, and a rejected trial point leads to another direction.
template <class Direction>
concept within_radius = requires {
  Direction::by_radius;
};

/// Makes the gradient at the trial point, and all sums of it.
template <class T, class Direction>
struct examine_trial {
  static constexpr int products = products_of<Direction>();
  Direction direction;
  descent_vectors<T> v;
  evaluated<T> at;

  using range = typename gathered<T>::range;
  template <class Products>
  struct entries {
    double value;
    T gradient, d, x;
    Products of_direction;
  };
  WHILST_HD auto read_products(index i) const {
    if constexpr (chosen_by_products<Direction>) {
      return direction.read_products(i);
    } else {
      return detail::nothing_read{};
    }
  }
  template <class Team>
  WHILST_HD range fetch(index i, const Team&) const {
    return at.gradient.entries(i);
  }
  template <class Team>
  WHILST_HD auto read(index i, const Team&, const range& of) const {
    return entries<decltype(read_products(i))>{at.value(i, v.n), at.gradient(i, of), v.d[i], v.trial[i],
                                               read_products(i)};
  }
  template <class Products>
  WHILST_HD sums<double, trial_sums::number + products> operator()(index i, const entries<Products>& e) const {
    v.trial_gradient[i] = e.gradient;
    const double g = e.gradient, d = e.d, x = e.x;
    sums<double, trial_sums::number + products> share{e.value, g * d, g * g, d * d, x * x};
    if constexpr (chosen_by_products<Direction>) {
      const sums<double, products> more = direction.multiply(i, e.gradient, e.x, e.d, e.of_direction);
      for (int k = 0; k < products; ++k) share.value[trial_sums::number + k] = more[k];
    }
    return share;
  }
};

/// Its finish: judges the point, and chooses the next direction where the sums suffice.
template <class Direction>
struct judge_and_choose {
  static constexpr int products = products_of<Direction>();
  static constexpr bool whole_warp = true;
  Direction direction;
  descent_state* s;
  const descent_settings* settings;
  descent_record* records;

  struct copied {
    descent_state state;
    descent_settings settings;
    [[no_unique_address]] typename Direction::kept kept;
  };
  template <class Copy>
  WHILST_HD void copy_ahead(copied& to, const Copy& copy) const {
    copy(to.state, static_cast<const descent_state*>(s));
    copy(to.settings, settings);
    if constexpr (requires { direction.numbers(); }) copy(to.kept, direction.numbers());
  }

  template <class Team>
  WHILST_HD void operator()(const Team& team, const sums<double, trial_sums::number + products>& total,
                            loop_state& loop, const copied& copies) const {
    const bool leads = team.rank() == 0;
    descent_state now;
    if (leads) {
      now = copies.state;
      judge_trial{records, copies.settings}(now, {total[0], total[1], total[2], total[3], total[4]}, loop);
    }
    if constexpr (chosen_by_products<Direction>) {
      if (team.broadcast(leads && now.accepted && loop.running, 0)) {
        sums<double, products> of;
        for (int k = 0; k < products; ++k) of.value[k] = total[trial_sums::number + k];
        // How x was reached is in the copies yet; where it was reached is in g'g.
        accepted_step step = step_of(copies.state);
        step.gradient_norm = sqrt(total[2]);
        const proposal chosen = direction.choose(team, of, step, copies.kept);
        if (leads) {
          begin_search(now, copies.settings.search, chosen);
          now.first = 0;
        }
      }
    }
    if (leads) *s = now;
  }
};

/// Goes to the accepted point, if the trial was one, makes the direction, and from both the next trial point.
template <class T, class Direction>
struct move_on {
  Direction direction;
  descent_vectors<T> v;
  const descent_state* s;

  template <class Entry>
  struct entries {
    int accepted, steepest;
    double step;
    T x, d, gradient, trial, trial_gradient;
    Entry of_direction;
  };
  // All at once, wanted or not: what waits for `accepted` waits long.
  WHILST_HD auto read(index i) const {
    return entries<decltype(direction.read_entry(i))>{
        s->accepted, s->steepest,         s->search.step,         v.x[i], v.d[i], v.gradient[i],
        v.trial[i],  v.trial_gradient[i], direction.read_entry(i)};
  }
  template <class Entry>
  WHILST_HD void operator()(index i, const entries<Entry>& e) const {
    T x = e.x, d = e.d, gradient = e.gradient;
    if (e.accepted) {
      gradient = e.trial_gradient;
      if (!e.steepest && !within_radius<Direction>) d = direction.entry(gradient, e.trial - x, d, e.of_direction);
      x = e.trial;
      v.x[i] = x;
      v.gradient[i] = gradient;
    }
    if (e.steepest) d = -gradient;
    if (within_radius<Direction>) d = direction.entry(gradient, T(0), d, e.of_direction);
    v.d[i] = d;
    v.trial[i] = x + static_cast<T>(e.step) * d;
  }
};

}  // namespace whilst
