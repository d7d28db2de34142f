#pragma once

#include "whilst/linear/methods/conjugate_gradient.hpp"
#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"
#include "whilst/nonlinear/minimize/hessian_operators.hpp"
#include "whilst/nonlinear/minimize/judge_in_region.hpp"
#include "whilst/nonlinear/minimize/newton_cg.hpp"

namespace whilst {

/// Newton's method in a trust region (Gauss-Newton for residual blocks), by the dogleg of M. J. D. Powell: from x along
/// -g to the minimum of the model there, then straight to Newton's step p, as far as the region extends. J. Nocedal and
/// S. J. Wright, Numerical Optimization, 2nd ed. (2006), section 4.1. Solves H p = -g by conjugate gradients, to the
/// tolerance of newton_cg, once per accepted point: a new radius only changes the weights of the same two vectors. p is
/// inexact, so the model is evaluated, and its lowest point in the region is taken. H must be positive semi-definite,
/// or is made so.
template <class T, template <class> class Hessian>
struct dogleg {
  static constexpr const char* name = "dogleg";
  static constexpr bool by_radius = true;
  using matrix = typename Hessian<T>::operator_type;
  using newton = newton_cg<T, Hessian>;

  /// d = along_gradient * -g + along_newton * p.
  struct weights {
    double along_gradient, along_newton;
  };
  struct scalars {
    double radius, predicted, norm;
    double slope;  ///< g'd
    double size;   ///< x' diag(H) x
    int at_boundary, at_wall;
    double gg, gHg;         ///< g'g, g'H g
    double gp, pp, gr, pr;  ///< g'p, p'p, g'r and p'r, where r = -g - H p
    weights of;
  };

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  scalars* step;
  control* inner;
  T *p, *r, *inverse;
  conjugate_gradient<T, matrix, inverse_diagonal<T>> cg;

  dogleg(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings, const objective<T>& f,
         workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        step(memory.take<scalars>(1)),
        inner(memory.take<control>(1)),
        p(memory.take<T>(v.n)),
        r(memory.take<T>(v.n)),
        inverse(memory.take<T>(v.n)),
        cg(Hessian<T>::of(f, s), inverse_diagonal<T>{inverse}, p, r, memory) {}

  judge_in_region<T, scalars> judge_of(descent_record* records) const { return {s, settings, records, step}; }

  struct begin {
    typename newton::begin same;
    WHILST_HD sums<double, 1> operator()(index_type i) const {
      const double diagonal = same.with_diagonal(i), x = same.v.trial[i];
      return {knows_diagonal(same.H) ? diagonal * x * x : 0.0};
    }
  };
  struct set_tolerance {
    typename newton::set_tolerance same;
    scalars* step;
    WHILST_HD void operator()(const sums<double, 1>& size) const {
      same();
      step->size = size[0];
    }
  };

  /// Of H r, with r still -g.
  struct curve {
    const T* r;
    WHILST_HD T read(index_type i) const { return r[i]; }
    WHILST_HD auto operator()(T ri, T Hr) const {
      const double r = ri;
      return sums{r * r, r * Hr};
    }
  };
  struct keep_curvature {
    scalars* step;
    WHILST_HD void operator()(const sums<double, 2>& total) const {
      step->gg = total[0];
      step->gHg = total[1];
    }
  };
  struct measure {
    descent_vectors<T> v;
    const T *p, *r;
    WHILST_HD sums<double, 4> operator()(index_type i) const {
      const double g = v.trial_gradient[i], pi = p[i], ri = r[i];
      return {g * pi, pi * pi, g * ri, pi * ri};
    }
  };
  struct keep_products {
    descent_state* s;
    scalars* step;
    const control* inner;
    WHILST_HD void operator()(const sums<double, 4>& total) const {
      // Discard a p whose sums overflow.
      const bool fit = is_finite(total[0]) && is_finite(total[1]) && is_finite(total[2]) && is_finite(total[3]);
      step->gp = fit ? total[0] : 0;
      step->pp = fit ? total[1] : 0;
      step->gr = fit ? total[2] : 0;
      step->pr = fit ? total[3] : 0;
      s->inner_iterations += inner->iteration;
    }
  };

  /// Of the dogleg's points within the region, the one where the model is lowest.
  struct choose {
    descent_state* s;
    scalars* step;
    WHILST_HD void operator()() const {
      scalars now = *step;
      const double gradient_norm = sqrt(now.gg), to_boundary = now.radius / gradient_norm;
      const double to_least = now.gHg > 0 ? now.gg / now.gHg : HUGE_VAL;
      now.predicted = now.slope = now.norm = 0;
      now.of = {};
      if (!s->begins_again()) propose_points(now, to_least, to_boundary);
      *step = now;
      s->search.step = 1;
      s->leave_start();
    }

   private:
    WHILST_HD static void propose_points(scalars& now, double to_least, double to_boundary) {
      try_out(now, {fmin(to_least, to_boundary), 0}, !(to_least < to_boundary));
      if (now.pp > 0 && now.pp <= now.radius * now.radius) {
        try_out(now, {0, 1}, false);
      } else if (now.pp > 0 && to_least < to_boundary) {
        const double t = way_to_sphere(now, to_least);
        try_out(now, {(1 - t) * to_least, t}, true);
      }
    }
    WHILST_HD static void try_out(scalars& now, const weights& of, bool at_boundary) {
      const double a = of.along_gradient, b = of.along_newton;
      // H p = -g - r.
      const double gd = b * now.gp - a * now.gg;
      const double dHd = a * a * now.gHg + 2 * a * b * (now.gg + now.gr) - b * b * (now.gp + now.pr);
      const double falls = -gd - 0.5 * dHd;
      if (!(falls > now.predicted)) return;
      now.predicted = falls;
      now.slope = gd;
      now.norm = sqrt(fmax(a * a * now.gg - 2 * a * b * now.gp + b * b * now.pp, 0.0));
      now.at_boundary = at_boundary;
      now.of = of;
    }
    /// How far along the way from c = -to_least g to p the sphere lies, as a fraction.
    WHILST_HD static double way_to_sphere(const scalars& now, double to_least) {
      const double cc = to_least * to_least * now.gg, cp = -to_least * now.gp;
      const double dd = now.pp - 2 * cp + cc, cd = cp - cc, left = fmax(now.radius * now.radius - cc, 0.0);
      const double root = sqrt(cd * cd + dd * left);
      return cd > 0 ? left / (cd + root) : (root - cd) / dd;
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>& f) const {
    run.branch("another point", &s->accepted, [&](auto& run) {
      Hessian<T>::make(run, f, v.trial, &s->accepted, true);
      run.step("r = -g, p = 0", v.n, begin{{v, cg.A, p, r, inverse}}, set_tolerance{{s, inner}, step});
      product(run, "g'g, g'H g", cg.A, r, cg.w, curve{r}, keep_curvature{step});
      run.loop(
          "H p = -g by cg", inner, [&](auto& run) { cg.start(run); }, [&](auto& run) { cg.iterate(run); });
      run.step("g'p, p'p, g'r, p'r", v.n, measure{v, p, r}, keep_products{s, step, inner});
    });
    run.once("the step to try", choose{s, step});
  }
  using kept = nothing_kept;
  struct entries {
    weights of;
    T p;
  };
  WHILST_HD entries read_entry(index_type i) const { return {step->of, p[i]}; }
  WHILST_HD static T entry(T gradient, T, T, const entries& e) {
    // p may be NaN where it is not used.
    const T newton = e.of.along_newton != 0 ? static_cast<T>(e.of.along_newton) * e.p : T(0);
    return newton - static_cast<T>(e.of.along_gradient) * gradient;
  }
};

}  // namespace whilst
