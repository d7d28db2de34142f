#pragma once

#include "whilst/linear/methods/conjugate_gradient.hpp"
#include "whilst/nonlinear/descent/damping.hpp"
#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"
#include "whilst/nonlinear/minimize/hessian_operators.hpp"
#include "whilst/nonlinear/minimize/judge_in_region.hpp"

namespace whilst {

/// Levenberg-Marquardt for any number of unknowns: (H + damping D) d = -g by conjugate gradients, where H is positive
/// semi-definite, for residual blocks the Gauss-Newton matrix. S. J. Wright, J. N. Holt, "An inexact
/// Levenberg-Marquardt method for large sparse nonlinear least squares", J. Austral. Math. Soc. B 26 (1985). D is H's
/// diagonal, or the remainder of an earlier, larger one, which loses a tenth with each accepted step; the damping
/// follows Nielsen or Marquardt. A rejected trial point costs another run of conjugate gradients but no H.
///
/// For fits with few unknowns, their number fixed at compile time, see levenberg_marquardt.hpp.
template <class T, template <class> class Hessian>
struct inexact_levenberg_marquardt {
  static constexpr const char* name = "levenberg-marquardt";
  static constexpr bool by_radius = true;
  static constexpr double epsilon = epsilon_of<T>;
  using matrix = typename Hessian<T>::operator_type;

  struct scalars {
    double damping, growth;
    double predicted;  ///< the decrease of the model at the trial point
    double slope;      ///< g'd
    double norm;       ///< of the step there
    double size;       ///< x' diag(H) x, 0 if the diagonal is unknown
    double x_norm;
    int hopeless;  ///< H or g is not finite
    int at_wall;   ///< f was not finite, and there has been no gain since
  };

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  damping_settings* damping;
  scalars* step;
  control* inner;
  T *solution, *r, *inverse, *scale;
  matrix H;
  conjugate_gradient<T, damped_operator<T, matrix>, inverse_diagonal<T>> cg;

  inexact_levenberg_marquardt(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings,
                              const objective<T>& f, workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        damping(memory.take<damping_settings>(1)),
        step(memory.take<scalars>(1)),
        inner(memory.take<control>(1)),
        solution(memory.take<T>(v.n)),
        r(memory.take<T>(v.n)),
        inverse(memory.take<T>(v.n)),
        scale(memory.take<T>(v.n)),
        H(Hessian<T>::of(f, s)),
        cg({H, scale, step ? &step->damping : nullptr}, inverse_diagonal<T>{inverse}, solution, r, memory) {}

  /// Accepts or rejects a trial point, and changes the damping.
  struct judge {
    descent_state* s;
    const descent_settings* settings;
    const damping_settings* damping;
    descent_record* records;
    scalars* step;

    WHILST_HD void operator()(const sums<double, trial_sums::number>& total, loop_state& loop) const {
      descent_state now = *s;
      decide(now, {total[0], total[1], total[2], total[3], total[4], total[5]}, loop);
      *s = now;
    }

   private:
    static constexpr double least = 1e-12, largest = sizeof(T) == 4 ? 1e20 : 1e40;

    WHILST_HD void decide(descent_state& now, const trial_sums& at, loop_state& loop) const {
      const judge_trial judge{records, *settings};
      if (!judge.begins(now, at, loop)) return;
      if (now.first) {
        step->damping = fmin(fmax(damping->first, least), largest);
        step->growth = 2;
        step->at_wall = 0;
        step->x_norm = sqrt(at.xx);
        judge.accept(now, at, loop);
        return;
      }
      if (step->hopeless) {
        loop.stop(reason::breakdown);
        return;
      }
      const double predicted = step->predicted, noise = rounding_of_f<T>(now.value, step->size, settings->search);
      const bool promises = predicted > 0, usable = at.usable() && promises;
      const gain_in_region gained(now, at, predicted, step->slope, noise, settings->search);
      if (usable && gained.hidden && (step->at_wall || !(gained.ratio > 1e-4))) {  // at a wall, steps lack room
        loop.stop(step->at_wall ? reason::radius_too_small
                                : judge.where_f_is_rounding(now, noise / (8 * settings->search.rounding)));
        return;
      }
      const double ratio = usable ? gained.ratio : -1;
      step->at_wall = !at.usable() || (step->at_wall && !(ratio > 1e-4));
      if (ratio > 1e-4) {
        relax(ratio);
        step->x_norm = sqrt(at.xx);
        judge.accept(now, at, loop, noise);
        return;
      }
      tighten();
      const bool moves = !is_finite(step->x_norm) || step->norm > epsilon * step->x_norm;
      if (step->damping > largest || (promises && !moves)) loop.stop(reason::radius_too_small);
    }
    WHILST_HD void relax(double ratio) const {
      const double t = 2 * ratio - 1;
      const double factor = damping->kind == damping_kind::classic ? 0.1 : fmax(1.0 / 3, 1 - t * t * t);
      step->damping = fmax(least, step->damping * factor);
      step->growth = 2;
    }
    WHILST_HD void tighten() const {
      step->damping *= damping->kind == damping_kind::classic ? 10 : step->growth;
      step->growth *= 2;
    }
  };
  judge judge_of(descent_record* records) const { return {s, settings, damping, records, step}; }

  /// The linear system for the step.
  struct begin {
    static constexpr T memory_of_scales = T(0.9);
    descent_vectors<T> v;
    const descent_state* s;
    const scalars* step;
    matrix H;
    T *solution, *r, *inverse, *scale;
    WHILST_HD sums<double, 1> operator()(index_type i) const {
      const T curvature = H.diagonal(i), x = s->accepted ? v.trial[i] : v.x[i];
      T of_i = scale[i];
      if (s->accepted) {
        const T kept = s->first ? T(0) : memory_of_scales * of_i;
        of_i = kept > curvature ? kept : curvature;
        if (!(of_i > 0)) of_i = 1;
        scale[i] = of_i;
      }
      inverse[i] = 1 / (curvature + static_cast<T>(step->damping) * of_i);
      r[i] = -(s->accepted ? v.trial_gradient[i] : v.gradient[i]);
      solution[i] = 0;
      return sums{knows_diagonal(H) ? static_cast<double>(curvature) * x * x : 0.0};
    }
  };
  /// A thousandth of the gradient, and less towards the end. A tenth would do for the step, but if unknowns are scaled
  /// differently, the norm of all residuals says little about most of them.
  struct set_tolerance {
    const descent_state* s;
    scalars* step;
    control* inner;
    WHILST_HD void operator()(const sums<double, 1>& size) const {
      const double left = s->gradient_norm / s->first_gradient_norm;
      inner->rtol_norm = fmax(fmin(1e-3, sqrt(left)), sqrt(epsilon)) * s->gradient_norm;
      inner->atol_norm = inner->divergence_norm = 0;
      inner->first_iteration = 0;
      step->size = size[0];
    }
  };
  struct measure {
    descent_vectors<T> v;
    const descent_state* s;
    const T *solution, *r, *scale;
    WHILST_HD sums<double, 4> operator()(index_type i) const {
      const double d = solution[i], g = s->accepted ? v.trial_gradient[i] : v.gradient[i];
      return {g * d, scale[i] * d * d, d * r[i], d * d};
    }
  };
  struct settle {
    descent_state* s;
    scalars* step;
    const control* inner;
    WHILST_HD void operator()(const sums<double, 4>& total) const {
      // -g'd - d'Hd / 2, where H d = -g - damping D d - r.
      step->predicted = 0.5 * (step->damping * total[1] - total[0] + total[2]);
      step->slope = total[0];
      step->norm = sqrt(total[3]);
      // An infinite promise comes from a step that overflows: more damping shortens it.
      step->hopeless = inner->why == reason::nan_or_infinity || step->predicted != step->predicted;
      s->inner_iterations += inner->iteration;
      s->search.step = 1;
      s->leave_start();
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>& f) const {
    Hessian<T>::make(run, f, v.trial, &s->accepted, true);
    run.step("D, r = -g, d = 0", v.n, begin{v, s, step, H, solution, r, inverse, scale}, set_tolerance{s, step, inner});
    run.loop(
        "(H + damping D) d = -g by cg", inner, [&](auto& run) { cg.start(run); }, [&](auto& run) { cg.iterate(run); });
    run.step("g'd, d'D d, d'r, d'd", v.n, measure{v, s, solution, r, scale}, settle{s, step, inner});
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index_type i) const { return solution[i]; }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
