#pragma once

#include "solvers/descent.hpp"
#include "solvers/newton_cg.hpp"
#include "solvers/truncated_conjugate_gradient.hpp"
#include "whilst/objective.hpp"

namespace whilst {

/// Newton's method in a trust region: J. Nocedal and S. J. Wright, Numerical Optimization, 2nd ed. (2006),
/// algorithm 4.1, with the step of Steihaug and Toint (truncated_conjugate_gradient), to the tolerance of newton_cg.
/// The Hessian is sparse, in memory, and need not be positive definite. A trial point that is rejected costs conjugate
/// gradients anew, in a smaller region, and no Hessian.
template <class T>
struct trust_region {
  static constexpr const char* name = "trust-region";
  static constexpr bool by_radius = true;
  using matrix = typename newton_cg<T>::matrix;
  using inner_method = truncated_conjugate_gradient<T, matrix>;

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  control* inner;
  T *solution, *r;
  inner_method cg;

  trust_region(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings, const objective<T>& f,
               workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        inner(memory.take<control>(1)),
        solution(memory.take<T>(v.n)),
        r(memory.take<T>(v.n)),
        cg(newton_cg<T>::matrix_of(f.hessian()), solution, r, memory) {}

  /// Accepts or rejects a trial point, and changes the radius.
  struct judge {
    descent_state* s;
    const descent_settings* settings;
    descent_record* records;
    typename inner_method::scalars* step;

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
        judge.accept(now, at, loop);
        return;
      }
      const double gain = now.value - at.f, predicted = step->predicted;
      if (!(predicted > 0)) {  // the model has no lower point: it is not finite, or too large for numbers
        loop.stop(reason::breakdown);
        return;
      }
      const double noise = 8 * settings->search.rounding * fabs(now.value);
      const bool usable = is_finite(at.f) && is_finite(at.gg);
      constexpr double largest_radius = 1e100;  // its square is a number
      // Where rounding hides the gain, the gradient tells.
      const bool hidden = usable && predicted <= noise && fabs(gain) <= noise;
      if (hidden && at.gg >= now.gradient_norm * now.gradient_norm) {
        loop.stop(reason::converged_function);
        return;
      }
      const double ratio = !usable ? -1 : hidden ? 1 : gain / predicted;
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
      } else if (!(step->radius > 1e-16 * sqrt(at.xx)) || !(step->radius > 0)) {
        loop.stop(reason::radius_too_small);
      }
    }
  };

  judge judge_of(descent_record* records) const { return {s, settings, records, cg.s}; }

  struct begin {
    descent_vectors<T> v;
    const descent_state* s;
    T *solution, *r;
    WHILST_HD void operator()(index i) const {
      r[i] = -(s->accepted ? v.trial_gradient[i] : v.gradient[i]);
      solution[i] = 0;
    }
  };
  struct settle {
    descent_state* s;
    const control* inner;
    WHILST_HD void operator()() const {
      s->inner_iterations += inner->iteration;
      s->search.step = 1;
      s->steepest = s->first = 0;
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>& f) const {
    f.make_hessian(run, v.trial, &s->accepted, false);
    run.step("r = -g, d = 0", v.n, begin{v, s, solution, r}, typename newton_cg<T>::set_tolerance{s, inner});
    run.loop("H d = -g in the region", inner, [&](auto& run) { cg.iterate(run); });
    run.once("the step to try", settle{s, inner});
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index i) const { return solution[i]; }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
