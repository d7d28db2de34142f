#pragma once

#include <limits>
#include <type_traits>

#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"
#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"
#include "whilst/nonlinear/minimize/hessian_operators.hpp"

namespace whilst {

/// Inexact Newton with a line search: H d = -g by conjugate gradients, until the residual is small compared with g or
/// the curvature turns out negative; d is the iterate at that point. J. Nocedal and S. J. Wright, Numerical
/// Optimization, 2nd ed. (2006), algorithm 7.1, with its tolerance min(1/2, sqrt ||g||) ||g||, down to half of the
/// digits. H is assembled or matrix-free; the inner loop runs for accepted points only.
///
/// The Preconditioner is the inverse of the diagonal's absolute values, or one in parts that prepares by itself, as
/// make_hessian_preconditioner makes it. That follows H by itself: it is told what each system took.
template <class T, template <class> class Hessian, class Preconditioner = inverse_diagonal<T>>
struct newton_cg {
  static constexpr const char* name = "newton-cg";
  static constexpr bool takes_preconditioner = std::is_same_v<Preconditioner, composed_preconditioner<T>>;
  using matrix = typename Hessian<T>::operator_type;

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  control* inner;
  T *solution, *r;
  Preconditioner M;
  conjugate_gradient<T, matrix, Preconditioner> cg;

  newton_cg(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings, const objective<T>& f,
            workspace& memory, preconditioner<T>* in_parts = nullptr)
      : v(v),
        s(s),
        settings(settings),
        inner(memory.take<control>(1)),
        solution(memory.take<T>(v.n)),
        r(memory.take<T>(v.n)),
        M(preconditioner_with_memory(in_parts, memory)),
        cg(Hessian<T>::of(f, s), M, solution, r, memory) {}

  struct begin {
    descent_vectors<T> v;
    matrix H;
    T *solution, *r, *inverse;  ///< the last null where H's diagonal is not asked for
    WHILST_HD void operator()(index_type i) const {
      if (inverse) {
        with_diagonal(i);
      } else {
        start(i);
      }
    }
    WHILST_HD void start(index_type i) const {
      r[i] = -v.trial_gradient[i];
      solution[i] = 0;
    }
    /// The diagonal entry. Its absolute value is the preconditioner: the matrix need not be positive definite.
    WHILST_HD T with_diagonal(index_type i) const {
      const T d = H.diagonal(i);
      inverse[i] = d == 0 ? T(1) : 1 / std::fabs(d);
      start(i);
      return d;
    }
  };
  struct set_tolerance {
    const descent_state* s;
    control* inner;
    WHILST_HD void operator()() const {
      constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
      inner->rtol_norm = fmax(fmin(0.5, sqrt(s->gradient_norm)), sqrt(epsilon)) * s->gradient_norm;
      inner->atol_norm = inner->divergence_norm = 0;
      inner->first_iteration = 0;
    }
  };
  struct descend {
    descent_vectors<T> v;
    const T* solution;
    WHILST_HD sums<double, 1> operator()(index_type i) const {
      return sums{static_cast<double>(solution[i]) * v.trial_gradient[i]};
    }
  };
  struct choose {
    descent_state* s;
    const descent_settings* settings;
    const control* inner;
    const index_type* refreshes;  ///< of the preconditioner; null where that does not count
    WHILST_HD void operator()(const sums<double, 1>& slope) const {
      s->inner_iterations += inner->iteration;
      if (refreshes) s->refreshes = *refreshes;
      change_direction(s, *settings, [&](const accepted_step&) { return proposal{slope[0], 1}; });
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>& f) const {
    run.branch("a new direction", &s->accepted, [&](auto& run) {
      Hessian<T>::make(run, f, v.trial, &s->accepted, true);
      if constexpr (takes_preconditioner) M.prepare(run, cg.A);
      run.step("r = -g, d = 0", v.n, begin{v, cg.A, solution, r, inverse()}, set_tolerance{s, inner});
      run.loop(
          "H d = -g by cg", inner, [&](auto& run) { cg.start(run); }, [&](auto& run) { cg.iterate(run); });
      if constexpr (takes_preconditioner) M.note_solve(run, inner, &s->gradient_norm);
      run.step("g'd", v.n, descend{v, solution}, choose{s, settings, inner, refreshes()});
    });
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index_type i) const { return static_cast<T>(solution[i]); }
  WHILST_HD static T entry(T, T, T, T d) { return d; }

 private:
  Preconditioner preconditioner_with_memory([[maybe_unused]] preconditioner<T>* in_parts, workspace& memory) const {
    if constexpr (takes_preconditioner) {
      return Preconditioner{in_parts}.with_memory(v.n, memory);
    } else {
      return {memory.take<T>(v.n)};
    }
  }
  const index_type* refreshes() const {
    if constexpr (takes_preconditioner) {
      return M.parts->refreshes();
    } else {
      return nullptr;
    }
  }
  T* inverse() const {
    if constexpr (takes_preconditioner) {
      return nullptr;
    } else {
      return M.inverse;
    }
  }
};

template <class T>
using assembled_newton_cg = newton_cg<T, assembled_hessian>;
template <class T>
using matrix_free_newton_cg = newton_cg<T, matrix_free_hessian>;
/// The preconditioner is an argument of the constructor.
template <class T>
using preconditioned_newton_cg = newton_cg<T, assembled_hessian, composed_preconditioner<T>>;

}  // namespace whilst
