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
/// Ends with breakdown when (r0, r), (r0, v) or (t, t) vanishes, and with stagnation when (t, r) does: then no step
/// along r reduces the residual. The caller restarts with a new r0 as long as that helps.
template <class T, class Operator, class Preconditioner>
struct bicgstab {
  static constexpr const char* name = "bicgstab";
  static constexpr bool runs_in_kernel = Preconditioner::runs_in_kernel;
  static constexpr method_needs needs{};
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
    p_hat = result_of(M, n, p, memory);
    r_hat = result_of(M, n, r, memory);
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
    const scalars* s;
    const T *r, *v;
    T* p;
    WHILST_HD T operator()(index_type i) const {
      const T beta = static_cast<T>(s->beta), omega = static_cast<T>(s->omega);
      const T pi = s->first ? r[i] : r[i] + beta * (p[i] - omega * v[i]);
      p[i] = pi;
      return pi;
    }
    index_type bytes(index_type n) const { return 4 * n * static_cast<index_type>(sizeof(T)); }
  };

  struct dot_with_r0 {
    const T* r0;
    WHILST_HD T read(index_type i) const { return r0[i]; }
    WHILST_HD auto operator()(T r0, T vi) const { return sums{static_cast<double>(r0) * vi}; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
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
    const scalars* s;
    const T *v, *p_hat;
    T *x, *r;
    WHILST_HD T operator()(index_type i) const {
      const T alpha = static_cast<T>(s->alpha);
      x[i] += alpha * p_hat[i];
      const T ri = r[i] - alpha * v[i];
      r[i] = ri;
      return ri;
    }
    index_type bytes(index_type n) const { return 6 * n * static_cast<index_type>(sizeof(T)); }
  };

  struct dots_with_residual {
    const T* r;
    WHILST_HD T read(index_type i) const { return r[i]; }
    WHILST_HD auto operator()(T r, T t) const {
      const double ti = t, ri = r;
      return sums{ti * ri, ti * ti, ri * ri};
    }
    index_type bytes(index_type n) const { return Preconditioner::is_identity ? 0 : n * index_type{sizeof(T)}; }
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
    update(run, "p = r + beta (p - omega v)", n, preconditioned(M, update_direction{s, r, v, p}, p, p_hat));
    product(run, "v = A M p, (r0,v)", A, p_hat, v, dot_with_r0{r0}, choose_alpha{s});
    update(run, "x += alpha M p, r -= alpha v", n, preconditioned(M, half_step{s, v, p_hat, x, r}, r, r_hat));
    product(run, "t = A M r, (t,r), (t,t)", A, r_hat, t, dots_with_residual{r}, choose_omega{s});
    run.step("x += omega M r, r -= omega t", n, advance{s, r0, t, r_hat, x, r}, judge_update{s, 0});
  }
};

}  // namespace whilst
