#pragma once

#include "whilst/linear/methods/bicgstab.hpp"
#include "whilst/nonlinear/equations/judge_residual.hpp"
#include "whilst/nonlinear/equations/posed_equations.hpp"

namespace whilst {

/// Inexact Newton for equations with a line search: J d = -F by BiCGSTAB, preconditioned by the diagonal where it is
/// not 0, to the tolerance eta ||F|| of S. C. Eisenstat, H. F. Walker, "Choosing the forcing terms in an inexact Newton
/// method", SIAM J. Sci. Comput. 17 (1996), choice 2 with its safeguard; no tighter than the solve's tolerances
/// require. J is sparse, in memory; the inner loop runs for accepted points only.
///
/// If BiCGSTAB breaks down and its d does not lead down, it restarts once, with r0 = r + J M r instead of r: then (r0,
/// r) = (r, r) and (r0, J M r) = (J M r, J M r), given that (r, J M r), at which it broke down, was 0.
template <class T>
struct newton_krylov {
  static constexpr const char* name = "newton-krylov";
  using trial_judge = judge_residual<residual_rule::reduce>;
  using matrix = csr_operator<T, std::int32_t, fixed_slot<const T>>;
  using inner_method = bicgstab<T, matrix, jacobi_preconditioner<T>>;

  struct scalars {
    double eta;   ///< the forcing term requested
    double norm;  ///< ||F|| at that point
    int again;    ///< BiCGSTAB broke down, and needs another r0
  };

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  control *inner, *second;  ///< of BiCGSTAB, and of BiCGSTAB with another r0
  scalars* forcing;
  T *solution, *r, *inverse;
  inner_method linear;

  newton_krylov(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings,
                const posed_equations<T>& f, workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        inner(memory.take<control>(1)),
        second(memory.take<control>(1)),
        forcing(memory.take<scalars>(1)),
        solution(memory.take<T>(v.n)),
        r(memory.take<T>(v.n)),
        inverse(memory.take<T>(v.n)),
        linear(matrix_of(f.system->jacobian()), {inverse}, solution, r, memory) {}

  static matrix matrix_of(const jacobian_view<T>& J) {
    const int lanes = lanes_for_row(static_cast<double>(J.nonzeros) / static_cast<double>(J.n));
    return {J.n, J.row_offsets, J.column_indices, {J.values}, lanes, J.nonzeros};
  }

  /// Begins BiCGSTAB; counts the rows of J with values that are not finite.
  struct begin {
    descent_vectors<T> v;
    matrix J;
    T *solution, *r, *inverse;
    WHILST_HD sums<double, 1> operator()(index_type i) const {
      const T d = J.diagonal(i);
      inverse[i] = d == 0 ? T(1) : 1 / d;
      r[i] = -v.trial_gradient[i];
      solution[i] = 0;
      const T* const values = J.values.get();
      bool finite = true;
      for (std::int32_t k = J.row_offsets[i]; k < J.row_offsets[i + 1]; ++k) finite = finite && is_finite(values[k]);
      return {finite ? 0.0 : 1.0};
    }
  };
  /// The paper's gamma = 0.9, alpha = 2, largest 0.9, first 0.5.
  struct set_tolerance {
    const descent_state* s;
    const descent_settings* settings;
    scalars* forcing;
    control* inner;
    WHILST_HD void operator()(const sums<double, 1>& rows_not_finite, loop_state& loop) const {
      if (rows_not_finite[0] > 0) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      constexpr double most = 0.9, worth_keeping = 0.1, least = 10 * (sizeof(T) == 4 ? 1.2e-7 : 2.2e-16);
      double eta = 0.5;
      if (!s->first) {
        // A step cut short by the line search left more of F than intended.
        const double last = 1 - fmin(s->search.step, 1.0) * (1 - forcing->eta), kept = 0.9 * last * last;
        const double ratio = s->gradient_norm / forcing->norm;
        eta = 0.9 * ratio * ratio;
        if (kept > worth_keeping) eta = fmax(eta, kept);
      }
      const descent_tolerances& t = settings->tolerances;
      const double enough = fmax(s->magnification * t.gradient, t.relative_gradient * s->first_gradient_norm);
      eta = fmin(fmax(fmax(eta, least), 0.5 * enough / s->gradient_norm), most);
      forcing->eta = eta;
      forcing->norm = s->gradient_norm;
      forcing->again = 0;
      inner->rtol_norm = eta * s->gradient_norm;
      inner->atol_norm = inner->divergence_norm = 0;
      inner->first_iteration = 0;
    }
  };

  /// F' J d, since the residual's recurrence may have drifted; and the sum of |d|, which must be finite.
  struct look_ahead {
    descent_vectors<T> v;
    const T* solution;
    struct entries {
      T residual, d;
    };
    WHILST_HD entries read(index_type i) const { return {v.trial_gradient[i], solution[i]}; }
    WHILST_HD sums<double, 2> operator()(const entries& e, T change) const {
      return {static_cast<double>(e.residual) * change, fabs(static_cast<double>(e.d))};
    }
  };
  struct choose {
    descent_state* s;
    const descent_settings* settings;
    const control* inner;
    scalars* forcing;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      s->inner_iterations += inner->iteration;
      const double slope = total[0];
      if (inner->why == reason::cancelled || inner->why == reason::deadline) {
        loop.stop(inner->why);
      } else if (slope < 0 && is_finite(slope) && is_finite(total[1])) {
        forcing->again = 0;
        change_direction(s, *settings, [&](const accepted_step&) { return proposal{slope, 1}; });
      } else if (!forcing->again && broke_down(inner->why)) {
        forcing->again = 1;
      } else {  // the linear solve led nowhere
        loop.stop(reason::breakdown);
      }
    }
    /// F and J are finite, so anything else here overflowed inside BiCGSTAB.
    WHILST_HD static bool broke_down(reason why) {
      return why == reason::breakdown || why == reason::stagnation || why == reason::nan_or_infinity;
    }
  };

  /// As before, including the first run's limit.
  struct set_second {
    const control* inner;
    control* second;
    WHILST_HD void operator()(const sums<double, 1>&) const {
      second->settings = inner->settings;
      second->rtol_norm = inner->rtol_norm;
      second->atol_norm = second->divergence_norm = 0;
      second->first_iteration = 0;
    }
  };
  /// r0 = r + J M r.
  struct another_r0 {
    const T* r;
    WHILST_HD T read(index_type i) const { return r[i]; }
    WHILST_HD T stored(T r, T product) const { return r + product; }
    WHILST_HD void operator()(T, T) const {}
  };

  template <class Run>
  void propose(Run& run, const posed_equations<T>& f) const {
    run.branch("a new direction", &s->accepted, [&](auto& run) {
      f.system->make_jacobian(run, v.trial, &s->accepted);
      const begin begin_linear{v, linear.A, solution, r, inverse};
      const auto solve = [&](auto& run, const char* name, control* of, const auto& start) {
        run.loop(name, of, start, [&](auto& run) { linear.iterate(run); });
        product(run, "F'J d", linear.A, solution, linear.t, look_ahead{v, solution}, choose{s, settings, of, forcing});
      };
      run.step("r = -F, d = 0", v.n, begin_linear, set_tolerance{s, settings, forcing, inner});
      solve(run, "J d = -F by bicgstab", inner, [&](auto& run) { linear.start(run); });
      run.branch("after a breakdown", &forcing->again, [&](auto& run) {
        run.step("r = -F, d = 0", v.n, begin_linear, set_second{inner, second});
        solve(run, "J d = -F by bicgstab, another r0", second, [&](auto& run) {
          linear.start(run);
          product(run, "r0 = r + J M r", linear.A, linear.p_hat, linear.r0, another_r0{r});
        });
      });
    });
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index_type i) const { return static_cast<T>(solution[i] * s->reduction); }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
