#pragma once

#include "solvers/conjugate_gradient.hpp"
#include "solvers/descent.hpp"
#include "whilst/objective.hpp"

namespace whilst {

/// Inexact Newton with a line search: H d = -g by conjugate gradients, until the residual is small beside g or the
/// curvature is found to be negative; d is what they have by then. J. Nocedal and S. J. Wright, Numerical Optimization,
/// 2nd ed. (2006), algorithm 7.1, with its tolerance min(1/2, sqrt ||g||) ||g||. H is sparse, in memory; the loop
/// within the loop runs for accepted points only.
template <class T>
struct newton_cg {
  static constexpr const char* name = "newton-cg";
  using matrix = csr_operator<T, std::int32_t, fixed_slot<const T>>;

  /// The inverse of the diagonal's size: the matrix need not be positive definite.
  struct diagonal {
    static constexpr bool pointwise = true, is_identity = false, runs_in_kernel = true;
    T* inverse;
    WHILST_HD T operator()(index i, T r) const { return inverse[i] * r; }
  };

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  control* inner;
  T *solution, *r, *inverse;
  conjugate_gradient<T, matrix, diagonal> cg;

  newton_cg(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings, const objective<T>& f,
            workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        inner(memory.take<control>(1)),
        solution(memory.take<T>(v.n)),
        r(memory.take<T>(v.n)),
        inverse(memory.take<T>(v.n)),
        cg(matrix_of(f.hessian()), diagonal{inverse}, solution, r, memory) {}

  static matrix matrix_of(const hessian_view<T>& H) {
    const int lanes = lanes_for_row(static_cast<double>(H.nonzeros) / static_cast<double>(H.n));
    return {H.n, H.row_offsets, H.column_indices, {H.values}, lanes};
  }

  struct begin {
    descent_vectors<T> v;
    matrix H;
    T *solution, *r, *inverse;
    WHILST_HD void operator()(index i) const {
      const T d = H.diagonal(i);
      inverse[i] = d == 0 ? T(1) : 1 / std::fabs(d);
      r[i] = -v.trial_gradient[i];
      solution[i] = 0;
    }
  };
  struct set_tolerance {
    const descent_state* s;
    control* inner;
    WHILST_HD void operator()() const {
      inner->rtol_norm = fmin(0.5, sqrt(s->gradient_norm)) * s->gradient_norm;
      inner->atol_norm = inner->divergence_norm = 0;
      inner->first_iteration = 0;
    }
  };
  struct descend {
    descent_vectors<T> v;
    const T* solution;
    WHILST_HD sums<double, 1> operator()(index i) const {
      return sums{static_cast<double>(solution[i]) * v.trial_gradient[i]};
    }
  };
  struct choose {
    descent_state* s;
    const descent_settings* settings;
    const control* inner;
    WHILST_HD void operator()(const sums<double, 1>& slope) const {
      s->inner_iterations += inner->iteration;
      change_direction(s, *settings, [&](const accepted_step&) { return proposal{slope[0], 1}; });
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>& f) const {
    run.branch("a new direction", &s->accepted, [&](auto& run) {
      f.make_hessian(run, v.trial, &s->accepted, true);
      run.step("r = -g, d = 0", v.n, begin{v, cg.A, solution, r, inverse}, set_tolerance{s, inner});
      run.loop(
          "H d = -g by cg", inner, [&](auto& run) { cg.start(run); }, [&](auto& run) { cg.iterate(run); });
      run.step("g'd", v.n, descend{v, solution}, choose{s, settings, inner});
    });
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index i) const { return static_cast<T>(solution[i]); }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
