#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/nonlinear/line_search/line_search.hpp"

namespace whilst {

/// When a minimization has converged. A value of 0 turns a test off.
struct descent_tolerances {
  /// Converged where ||g||_2 is no more than this,
  double gradient = 1e-8;
  /// or no more than this times the first one.
  double relative_gradient = 0;
  /// Converged where an accepted step was no longer than this times ||x||_2.
  double step = 0;
  /// Converged where an accepted step reduced f by no more than this times |f|. Whatever the value, a minimization has
  /// also converged where rounding of f hides any further gain. It then ends with attainable_accuracy if |g'x| exceeds
  /// half of f, as for a function that decreases without bound: f would then show a change of x as small as rounding.
  double function = 0;
};

/// What a launch passes to a minimization.
struct alignas(16) descent_settings {
  descent_tolerances tolerances;
  line_search_settings search;
  /// A value below this means that f is unbounded below.
  double lower_bound = -1e300;
};
static_assert(sizeof(descent_settings) % 8 == 0);

/// One record of a minimization's history: after `iteration` accepted steps.
struct descent_record {
  index_type iteration;
  double value, gradient_norm;
  double step_length;           ///< ||s||_2 of the last step
  index_type evaluations;       ///< of f and g, since the start
  index_type inner_iterations;  ///< likewise
  index_type trial_values;      ///< likewise: of f alone, by the parallel line search
};

/// What a minimization keeps between its steps, in memory of its place. Values belong to x unless they say that they
/// belong to the trial point.
struct alignas(16) descent_state {
  /// A power of two that scales f and its derivatives, here and in the vectors, if the first gradient is so small or so
  /// large that its square underflows or overflows. 1 otherwise.
  double magnification, reduction;  ///< the latter its reciprocal: a division is ten times slower
  double value, gradient_norm, first_gradient_norm;
  /// The recent magnitude of |f|: C of H. Zhang, W. W. Hager, "A nonmonotone line search technique and its application
  /// to unconstrained optimization", SIAM J. Optim. 14 (2004), for eta = 0.7, with Q at its limit.
  double size;
  double first_size;  ///< |f| at the start
  /// First-order change of f for a change of x as large as x: |g'x|, or the larger ||g|| ||x|| where f is above its
  /// value at the start. A function that decreases without bound as a power p of x has g'x = p f, by Euler's theorem.
  double of_x;
  double slope;        ///< g' d
  double step_length;  ///< ||s||_2 of the step to x
  double promise;      ///< what the first trial length would gain if f were linear
  line_search search;
  index_type evaluations, restarts, inner_iterations, trial_values;
  index_type refreshes;  ///< how often newton-cg's preconditioner was made anew
  int idle;              ///< consecutive accepted steps whose gain was only rounding
  int hidden;            ///< the previous direction promised no more than rounding
  /// The trial point becomes the new x: a new direction is needed.
  int accepted;
  /// There is no x yet; the trial point is the start.
  int first;
  double lowest_norm;  ///< of the gradient, or of F, over accepted points
  /// If accepted points may rise: whether x has the lowest norm; and whether x had it but the trial point, now
  /// accepted, does not.
  int is_lowest, was_lowest;
  /// The direction is steepest descent: the first one, and where another did not lead down.
  int steepest;

  /// In the caller's scale.
  WHILST_HD double value_of_f() const { return value * reduction; }
  WHILST_HD double norm_of_gradient() const { return gradient_norm * reduction; }
  WHILST_HD void magnify(double by) {
    magnification = by;
    reduction = 1 / by;
  }

  /// The start is to be evaluated again with another magnification: for methods that propose after every trial point,
  /// accepted or not.
  WHILST_HD bool begins_again() const { return first && !accepted; }
  WHILST_HD void leave_start() {
    steepest = 0;
    first = begins_again();
  }
};

/// The vectors of a minimization, n entries each; the trial point has room for so many more, for what a function that
/// ranks of a group have in parts reads of others.
template <class T>
struct descent_vectors {
  index_type n;
  T *x, *gradient;            ///< the point, and the gradient there
  T *trial, *trial_gradient;  ///< the trial point, x + step d, and the gradient there
  T* d;                       ///< the direction

  template <class Workspace>
  WHILST_HD constexpr descent_vectors(index_type n, Workspace& memory, index_type ghosts = 0)
      : n(n),
        x(memory.template take<T>(n)),
        gradient(memory.template take<T>(n)),
        trial(memory.template take<T>(n + ghosts)),
        trial_gradient(memory.template take<T>(n)),
        d(memory.template take<T>(n)) {}
};

/// What a method proposes for an accepted point: g' d, and the first length to try. Empty: steepest descent.
struct proposal {
  double slope = 0, first_step = 0;
};

/// A gain this small may be rounding of the value alone.
WHILST_HD inline double hidden_gain(double value, const line_search_settings& settings) {
  return 8 * settings.rounding * fabs(value);
}

/// The length that a search tries first, and what it would gain if f were linear.
struct first_trial {
  double length, promise;
};
/// Along steepest descent. All we know is that it should not move x by more than about 1, or twice the last step: far
/// out, a step of 1 is lost in rounding, which is no sign of a minimum. Out of line, like all rare code, to keep a
/// finish's main path short. By value, since taking an address would force the state out of registers.
WHILST_NOINLINE WHILST_HD inline first_trial first_trial_of_steepest(double gradient_norm, double step_length,
                                                                     double value, double of_x, double hidden) {
  double move = fmax(1.0, 2 * step_length);
  const double length = fmin(1.0, move / gradient_norm), promise = gradient_norm * gradient_norm * length;
  if (promise > hidden) return {length, promise};
  // Usually no longer than the gradient, either, but rounding would hide such a step if f is a small multiple of
  // something, or x is large.
  if (of_x > 0.5 * fabs(value)) move = fmax(move, 0.01 * fabs(value) / gradient_norm);
  return {move / gradient_norm, promise};
}

/// Begins a line search along a direction, or along steepest descent if the direction does not lead down.
WHILST_HD inline void begin_search(descent_state& now, const line_search_settings& settings, const proposal& chosen) {
  const double value = now.value, size = now.size, norm = now.gradient_norm;
  const bool leads_down =
      chosen.slope < 0 && is_finite(chosen.slope) && chosen.first_step > 0 && is_finite(chosen.first_step);
  const first_trial trial =
      leads_down ? first_trial{chosen.first_step, -chosen.slope * chosen.first_step}
                 : first_trial_of_steepest(norm, now.step_length, value, now.of_x, hidden_gain(value, settings));
  now.steepest = !leads_down;
  now.slope = leads_down ? chosen.slope : -norm * norm;
  now.promise = trial.promise;
  now.search.begin(settings, value, now.slope, trial.length, size);
}

/// Begins a line search along steepest descent.
WHILST_NOINLINE WHILST_HD inline void begin_search_along_gradient(descent_state& now,
                                                                  const line_search_settings& settings) {
  begin_search(now, settings, {});
}

/// How an accepted point was reached.
struct accepted_step {
  double gradient_square;  ///< g'g there
  double length, slope;    ///< the step was length * d, where g' d was slope
  bool first;              ///< the start, which no step led to
  bool steepest;           ///< d was steepest descent
};
WHILST_HD inline accepted_step step_of(const descent_state& now) {
  return {now.gradient_norm * now.gradient_norm, now.search.step, now.slope, now.first != 0, now.steepest != 0};
}

/// For a finish that chooses the direction from an accepted point: begins the search along what choose(accepted_step)
/// proposes. Does nothing if the trial point was not accepted.
template <class Choose>
WHILST_HD void change_direction(descent_state* s, const descent_settings& settings, const Choose& choose) {
  if (!s->accepted) return;
  begin_search(*s, settings.search, choose(step_of(*s)));
  s->first = 0;
}

}  // namespace whilst
