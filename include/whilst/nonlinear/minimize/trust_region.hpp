#pragma once

#include "whilst/linear/methods/truncated_conjugate_gradient.hpp"
#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"
#include "whilst/nonlinear/minimize/judge_in_region.hpp"
#include "whilst/nonlinear/minimize/newton_cg.hpp"

namespace whilst {

/// Newton's method in a trust region: J. Nocedal and S. J. Wright, Numerical Optimization, 2nd ed. (2006), algorithm
/// 4.1, with the step of Steihaug and Toint (truncated_conjugate_gradient), to the tolerance of newton_cg. The Hessian,
/// assembled or matrix-free, need not be positive definite. A rejected trial point costs another run of conjugate
/// gradients, in a smaller region, but no Hessian.
template <class T, template <class> class Hessian>
struct trust_region {
  static constexpr const char* name = "trust-region";
  static constexpr bool by_radius = true;
  using inner_method = truncated_conjugate_gradient<T, typename Hessian<T>::operator_type>;

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
        cg(Hessian<T>::of(f, s), solution, r, memory) {}

  using judge = judge_in_region<T, typename inner_method::scalars>;
  judge judge_of(descent_record* records) const { return {s, settings, records, cg.s}; }

  struct begin {
    descent_vectors<T> v;
    const descent_state* s;
    T *solution, *r;
    WHILST_HD void operator()(index_type i) const {
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
      s->leave_start();
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>& f) const {
    Hessian<T>::make(run, f, v.trial, &s->accepted, false);
    run.step("r = -g, d = 0", v.n, begin{v, s, solution, r}, typename newton_cg<T, Hessian>::set_tolerance{s, inner});
    run.loop("H d = -g in the region", inner, [&](auto& run) { cg.iterate(run); });
    run.once("the step to try", settle{s, inner});
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index_type i) const { return solution[i]; }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
