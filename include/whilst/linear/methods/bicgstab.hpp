#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// BiCGSTAB, for any square matrix: H. A. van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG
/// for the solution of nonsymmetric linear systems", SIAM J. Sci. Stat. Comput. 13 (1992); right-preconditioned, so
/// that r follows the true residual.
///
/// Two reductions an iteration, each with a product. The second predicts the next (r0, r) = (r0, s) - omega (r0, t), so
/// that one step updates x, r and p; the first measures it, and (r, r), again. Four steps an iteration where M is
/// pointwise and A has rows.
///
/// Ends with breakdown when (r0, r), (r0, v) or (t, t) vanishes, and with stagnation when (t, s) does: then no step
/// along s reduces the residual. The half step before that still counts. The caller restarts with a new r0 as long as
/// that helps.
template <class T, class Operator, class Preconditioner>
struct bicgstab {
  static constexpr const char* name = "bicgstab";
  static constexpr bool runs_in_kernel = Preconditioner::runs_in_kernel, spans_blocks = true;
  static constexpr method_needs needs{};
  static constexpr bool lowers_error = false;

  struct of_half {
    double alpha;
  };
  struct alignas(16) of_step {
    double alpha, omega, beta;
  };
  /// What finishes tell the next one.
  struct scalars {
    double rho, alpha;
    reason ends;  ///< after this step, unless it has converged
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *r0, *p, *v, *t, *p_hat, *s_hat;
  scalars* known;
  of_half* half;
  of_step* step;

  WHILST_HD bicgstab(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    r0 = memory.vector<T>(n);
    p = memory.vector<T>(n);
    v = memory.vector<T>(n);
    t = memory.vector<T>(n);
    p_hat = result_of(M, n, p, memory);
    s_hat = result_of(M, n, r, memory);
    known = memory.take<scalars>(1);
    half = memory.take<of_half>(1);
    step = memory.take<of_step>(1);
  }

  struct begin {
    const T* r;
    T *r0, *p;
    WHILST_HD T operator()(index_type i) const { return r0[i] = p[i] = r[i]; }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct end_nothing {
    scalars* known;
    WHILST_HD void operator()() const { known->ends = reason::running; }
  };

  /// (r0, v), (r0, r), (r, r).
  struct dots_with_v {
    static constexpr int blocks_wanted = 4;
    const T *r0, *r;
    struct entries {
      T r0, r;
    };
    WHILST_HD entries read(index_type i) const { return {r0[i], r[i]}; }
    WHILST_HD auto operator()(const entries& e, T v) const {
      const double of_r0 = e.r0, ri = e.r;
      return sums{of_r0 * static_cast<double>(v), of_r0 * ri, ri * ri};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct choose_alpha {
    of_half* handed;
    scalars* known;
    WHILST_HD reason read() const { return known->ends; }
    WHILST_HD void operator()(const sums<double, 3>& total, loop_state& loop, reason ends) const {
      const double rho = total[1], alpha = rho / total[0];
      if (loop.check(sqrt(total[2]))) return;
      if (ends != reason::running) {
        loop.stop(ends);
      } else if (rho == 0 || !is_finite(static_cast<T>(alpha))) {
        loop.stop(is_finite(total[0]) && is_finite(rho) ? reason::breakdown : reason::nan_or_infinity);
      } else {
        known->rho = rho;
        known->alpha = alpha;
        *handed = {alpha};
      }
    }
  };

  /// r becomes s = r - alpha v.
  struct half_step {
    static constexpr bool fetches_constants = false;
    static constexpr int blocks_wanted = 4;
    const of_half* handed;
    const T* v;
    T* r;
    struct entries {
      double alpha;
      T r, v;
    };
    // The step before writes v and alpha only.
    template <class Team>
    WHILST_HD T fetch(index_type i, const Team& team) const {
      return team.early(r + i);
    }
    template <class Team>
    WHILST_HD entries read(index_type i, const Team&, T ri) const {
      return {handed->alpha, ri, v[i]};
    }
    WHILST_HD T operator()(index_type i, const entries& e) const { return r[i] = e.r - static_cast<T>(e.alpha) * e.v; }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };

  /// (t, s), (t, t), (s, s), (r0, s), (r0, t).
  struct dots_with_t {
    static constexpr int blocks_wanted = 4;
    const T *r0, *s;
    struct entries {
      T r0, s;
    };
    WHILST_HD entries read(index_type i) const { return {r0[i], s[i]}; }
    WHILST_HD auto operator()(const entries& e, T t) const {
      const double ti = t, si = e.s, of_r0 = e.r0;
      return sums{ti * si, ti * ti, si * si, of_r0 * si, of_r0 * ti};
    }
    index_type bytes(index_type n) const {
      return (Preconditioner::is_identity ? 1 : 2) * n * static_cast<index_type>(sizeof(T));
    }
  };
  struct choose_omega {
    of_step* handed;
    scalars* known;
    WHILST_HD scalars read() const { return *known; }
    WHILST_HD void operator()(const sums<double, 5>& total, loop_state& loop, const scalars& last) const {
      const double ts = total[0], tt = total[1], ss = total[2], omega = ts / tt;
      if (!is_finite(ss)) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      if (ss == 0 || ts == 0 || !is_finite(static_cast<T>(omega))) {  // the half step reached the solution, or an end
        known->ends = ss == 0          ? reason::breakdown
                      : !is_finite(tt) ? reason::nan_or_infinity
                      : tt == 0        ? reason::breakdown
                      : ts == 0        ? reason::stagnation
                                       : reason::breakdown;
        *handed = {last.alpha, 0, 0};
        return;
      }
      const double beta = (total[3] - omega * total[4]) / last.rho * (last.alpha / omega);
      // Without a next direction, the step still counts.
      if (!is_finite(static_cast<T>(beta))) known->ends = reason::breakdown;
      *handed = {last.alpha, omega, is_finite(static_cast<T>(beta)) ? beta : 0};
    }
  };

  struct advance {
    static constexpr bool fetches_constants = false;
    static constexpr int blocks_wanted = 4;
    const of_step* handed;
    const T *v, *t, *p_hat, *s_hat;
    T *x, *r, *p;
    struct own {
      T x, r, p, v, p_hat, s_hat;
    };
    struct entries {
      of_step told;
      own e;
      T t;
    };
    // The step before writes t and the scalars only.
    template <class Team>
    WHILST_HD own fetch(index_type i, const Team& team) const {
      constexpr bool same = Preconditioner::is_identity;
      const T ri = team.early(r + i), pi = team.early(p + i);
      return {team.early(x + i),
              ri,
              pi,
              team.early(v + i),
              same ? pi : team.early(p_hat + i),
              same ? ri : team.early(s_hat + i)};
    }
    template <class Team>
    WHILST_HD entries read(index_type i, const Team&, const own& e) const {
      return {*handed, e, t[i]};
    }
    WHILST_HD T operator()(index_type i, const entries& all) const {
      const own& e = all.e;
      const T alpha = static_cast<T>(all.told.alpha), omega = static_cast<T>(all.told.omega);
      x[i] = e.x + (alpha * e.p_hat + (omega == 0 ? 0 : omega * e.s_hat));
      const T ri = omega == 0 ? e.r : e.r - omega * all.t;
      r[i] = ri;
      return p[i] = ri + static_cast<T>(all.told.beta) * (e.p - omega * e.v);
    }
    index_type bytes(index_type n) const {  // x, r, p read and written, v and t read; those of M, too
      return (Preconditioner::is_identity ? 8 : 10) * n * static_cast<index_type>(sizeof(T));
    }
  };

  template <class Run>
  WHILST_HD void start(Run& run) const {
    update(run, "r0 = p = r", A.rows(), preconditioned(M, begin{r, r0, p}, p, p_hat), end_nothing{known});
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    product(run, "v = A M p, (r0,v), (r0,r), (r,r)", A, p_hat, v, dots_with_v{r0, r}, choose_alpha{half, known},
            "s = r - alpha v", preconditioned(M, half_step{half, v, r}, r, s_hat));
    product(run, "t = A M s, (t,s), (t,t), (s,s), (r0,s), (r0,t)", A, s_hat, t, dots_with_t{r0, r},
            choose_omega{step, known}, "x += alpha M p + omega M s, r = s - omega t, p",
            preconditioned(M, advance{step, v, t, p_hat, s_hat, x, r, p}, p, p_hat));
  }
};

}  // namespace whilst
