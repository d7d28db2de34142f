#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/operators.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

/// BiCGSTAB, for any square matrix: H. A. van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG
/// for the solution of nonsymmetric linear systems", SIAM J. Sci. Stat. Comput. 13 (1992); right-preconditioned, so
/// that r follows the true residual.
///
/// Ends with breakdown when (r0, r), (r0, v) or (t, t) vanishes, and with stagnation when (t, r) does: then no step
/// along r reduces the residual. The caller restarts with a new r0 as long as that helps.
template <class T, class Operator, class Preconditioner>
struct bicgstab {
  static constexpr const char* name = "bicgstab";
  static constexpr bool runs_in_kernel = Preconditioner::runs_in_kernel;
  static constexpr bool lowers_error = false;

  struct scalars {
    double alpha, beta, omega, rho;
    int first;
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *r0, *p, *v, *t, *p_hat, *r_hat;
  scalars* s;

  WHILST_HD bicgstab(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    r0 = memory.take<T>(n);
    p = memory.take<T>(n);
    v = memory.take<T>(n);
    t = memory.take<T>(n);
    p_hat = Preconditioner::is_identity ? p : memory.take<T>(n);
    r_hat = Preconditioner::is_identity ? r : memory.take<T>(n);
    s = memory.take<scalars>(1);
  }

  struct dots_at_start {
    const T* r;
    T* r0;
    WHILST_HD auto operator()(index_type i) const {
      const T ri = r[i];
      r0[i] = ri;
      return sums{static_cast<double>(ri) * ri, static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  /// Receives (r, r) and (r0, r) after an update, or at the start.
  struct judge_update {
    scalars* s;
    int at_start;
    WHILST_HD scalars read() const { return *s; }
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop, const scalars& last) const {
      const double rr = total[0], rho = total[1];
      if (loop.check(sqrt(rr))) return;
      const double beta = at_start ? 0 : rho / last.rho * (last.alpha / last.omega);
      if (rho == 0 || !is_finite(static_cast<T>(beta))) {
        loop.stop(reason::breakdown);
        return;
      }
      s->beta = beta;
      s->rho = rho;
      s->first = at_start;
    }
  };

  struct update_direction {
    Preconditioner M;
    const scalars* s;
    const T *r, *v;
    T *p, *p_hat;
    WHILST_HD void operator()(index_type i) const {
      const T beta = static_cast<T>(s->beta), omega = static_cast<T>(s->omega);
      const T pi = s->first ? r[i] : r[i] + beta * (p[i] - omega * v[i]);
      p[i] = pi;
      if constexpr (Preconditioner::pointwise && !Preconditioner::is_identity) p_hat[i] = M(i, pi);
    }
    index_type bytes(index_type n) const requires says_own_bytes<Preconditioner> {
      constexpr index_type vectors = Preconditioner::pointwise && !Preconditioner::is_identity ? 5 : 4;
      return bytes_of(M, n) + vectors * n * static_cast<index_type>(sizeof(T));
    }
  };

  struct apply_to_direction {
    static constexpr bool fetches_constants = detail::fetches_only_constants<Operator>();
    Operator A;
    const T *r0, *p_hat;
    T* v;
    struct entries {
      T vi, r0;
    };
    WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
    template <class Team>
    WHILST_HD auto fetch(index_type i, const Team& team) const {
      return fetch_row(A, i, team);
    }
    template <class Team, class Row>
    WHILST_HD entries read(index_type i, const Team& team, const Row& row) const {
      return {row_times(row, A, i, p_hat, team), r0[i]};
    }
    template <class Team>
    WHILST_HD auto operator()(index_type i, const Team& team, const entries& e) const {
      if (team.rank() == 0) v[i] = e.vi;
      return sums{static_cast<double>(e.r0) * e.vi};
    }
    index_type bytes(index_type n) const requires says_bytes<Operator> {
      return A.bytes() + 3 * n * static_cast<index_type>(sizeof(T));
    }
  };
  struct choose_alpha {
    scalars* s;
    WHILST_HD double read() const { return s->rho; }
    WHILST_HD void operator()(const sums<double, 1>& r0_v, loop_state& loop, double rho) const {
      const double alpha = rho / r0_v[0];
      s->alpha = alpha;
      if (!is_finite(static_cast<T>(alpha)))
        loop.stop(is_finite(r0_v[0]) ? reason::breakdown : reason::nan_or_infinity);
    }
  };

  /// r becomes s = r - alpha v, and x takes its first half step, so that stopping between the halves loses nothing.
  struct half_step {
    Preconditioner M;
    const scalars* s;
    const T *v, *p_hat;
    T *x, *r, *r_hat;
    WHILST_HD void operator()(index_type i) const {
      const T alpha = static_cast<T>(s->alpha);
      x[i] += alpha * p_hat[i];
      const T ri = r[i] - alpha * v[i];
      r[i] = ri;
      if constexpr (Preconditioner::pointwise && !Preconditioner::is_identity) r_hat[i] = M(i, ri);
    }
    index_type bytes(index_type n) const requires says_own_bytes<Preconditioner> {
      constexpr index_type vectors = Preconditioner::pointwise && !Preconditioner::is_identity ? 7 : 6;
      return bytes_of(M, n) + vectors * n * static_cast<index_type>(sizeof(T));
    }
  };

  struct apply_to_residual {
    static constexpr bool fetches_constants = detail::fetches_only_constants<Operator>();
    Operator A;
    const T *r, *r_hat;
    T* t;
    struct entries {
      T ti, r;
    };
    WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
    template <class Team>
    WHILST_HD auto fetch(index_type i, const Team& team) const {
      return fetch_row(A, i, team);
    }
    template <class Team, class Row>
    WHILST_HD entries read(index_type i, const Team& team, const Row& row) const {
      return {row_times(row, A, i, r_hat, team), r[i]};
    }
    template <class Team>
    WHILST_HD auto operator()(index_type i, const Team& team, const entries& e) const {
      if (team.rank() == 0) t[i] = e.ti;
      const double ti = e.ti, ri = e.r;
      return sums{ti * ri, ti * ti, ri * ri};
    }
    index_type bytes(index_type n) const requires says_bytes<Operator> {
      constexpr index_type vectors = Preconditioner::is_identity ? 2 : 3;
      return A.bytes() + vectors * n * static_cast<index_type>(sizeof(T));
    }
  };
  struct choose_omega {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 3>& total, loop_state& loop) const {
      const double tr = total[0], tt = total[1], rr = total[2];
      if (rr == 0) {  // the half step reached the solution
        s->omega = 0;
        return;
      }
      const double omega = tr / tt;
      s->omega = omega;
      if (!is_finite(static_cast<T>(omega))) {
        loop.stop(is_finite(tt) ? reason::breakdown : reason::nan_or_infinity);
      } else if (omega == 0) {
        loop.stop(reason::stagnation);
      }
    }
  };

  struct advance {
    const scalars* s;
    const T *r0, *t, *r_hat;
    T *x, *r;
    WHILST_HD auto operator()(index_type i) const {
      const T omega = static_cast<T>(s->omega);
      x[i] += omega * r_hat[i];
      const T ri = r[i] - omega * t[i];
      r[i] = ri;
      return sums{static_cast<double>(ri) * ri, static_cast<double>(r0[i]) * ri};
    }
    index_type bytes(index_type n) const {
      constexpr index_type vectors = Preconditioner::is_identity ? 6 : 7;
      return vectors * n * static_cast<index_type>(sizeof(T));
    }
  };

  template <class Run>
  WHILST_HD void start(Run& run) const {
    run.step("r0 = r, (r,r)", A.rows(), dots_at_start{r, r0}, judge_update{s, 1});
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    const index_type n = A.rows();
    run.step("p = r + beta (p - omega v)", n, update_direction{M, s, r, v, p, p_hat});
    if constexpr (!Preconditioner::pointwise) precondition(run, M, n, p, p_hat);
    before_apply(run, A, static_cast<const T*>(p_hat));
    run.step("v = A M p, (r0,v)", n, apply_to_direction{A, r0, p_hat, v}, choose_alpha{s});
    run.step("x += alpha M p, r -= alpha v", n, half_step{M, s, v, p_hat, x, r, r_hat});
    if constexpr (!Preconditioner::pointwise) precondition(run, M, n, r, r_hat);
    before_apply(run, A, static_cast<const T*>(r_hat));
    run.step("t = A M r, (t,r), (t,t)", n, apply_to_residual{A, r, r_hat, t}, choose_omega{s});
    run.step("x += omega M r, r -= omega t", n, advance{s, r0, t, r_hat, x, r}, judge_update{s, 0});
  }
};

}  // namespace whilst
