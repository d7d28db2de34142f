#pragma once

#include <cmath>

#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// Flexible conjugate gradients: Y. Notay, "Flexible conjugate gradients", SIAM J. Sci. Comput. 22 (2000), algorithm
/// FCG(1). Each direction is made conjugate to the last one by the product that is there, whatever M did meanwhile:
/// with u = M r and q = A p,
///
///   alpha =  (p, r) / (p, q)      x += alpha p, r -= alpha q
///   beta  = -(u, q) / (p, q)      p = u + beta p
///
/// After the update (p, r) is 0, and so (p, r) = (r, u) for the next p. M may change from step to step. The direction
/// outlives a restart of linear_solve, which only recomputes r and puts it into other units: alpha makes up for what r
/// has changed by, beta is conjugate as before, and no Krylov space is lost.
///
/// Two reductions an iteration, where conjugate_gradient has one, but no recurrence for A p, so that fewer vectors are
/// read and written. Entries are computed in double, whatever T stores: memory is what an iteration waits for.
///
/// If A has a factor (see scaled_operator), q leaves it out, as in conjugate_gradient. A and M symmetric positive
/// definite; ends with indefinite_operator or indefinite_preconditioner where it finds out that one is not. x is
/// changed by finite steps only. T is what the vectors are stored in, X what x is.
template <class T, class X, class Operator, class Preconditioner>
struct flexible_conjugate_gradient_loop {
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs{.symmetric = true, .definite = true, .fixed_preconditioner = false};
  static constexpr bool lowers_error = true;  ///< in the norm of A, whatever M

  struct scalars {
    double alpha, alpha_factor;  ///< alpha_factor: alpha times A's factor
    double pq;                   ///< (p, q); 0 if there is no direction yet
    double pr, ru, norm;         ///< of the r that the next step begins from
  };
  struct alignas(16) weights {
    double alpha, beta;
  };

  Operator A;
  Preconditioner M;
  X* x;
  T *r, *u, *p, *q;
  scalars* s;
  weights* handed;

  /// x and r = b - A x are the caller's, in working memory; the rest is taken from `memory`.
  flexible_conjugate_gradient_loop(const Operator& A, const Preconditioner& M, X* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    u = result_of(M, n, r, memory);
    p = memory.take<T>(n);
    q = memory.take<T>(n);
    s = memory.take<scalars>(1);
    handed = memory.take<weights>(1);
  }

  struct forget_direction {
    scalars* s;
    WHILST_HD void operator()() const { s->pq = 0; }
  };
  struct first_dots {
    const T *p, *r, *u;
    WHILST_HD auto operator()(index_type i) const {
      const double pi = p[i], ri = r[i], ui = u[i];  // what p holds at first may not even be a number
      return sums{pi * ri, ri * ui, ri * ri};
    }
    index_type bytes(index_type n) const { return (r == u ? 2 : 3) * n * static_cast<index_type>(sizeof(T)); }
  };
  /// Keeps the direction, unless so little is left to do that rounding may be all that it knows of r.
  struct begin {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 3>& total, loop_state& loop) const {
      s->norm = sqrt(total[2]);
      const double norm = s->norm * power_of_two(loop.norm_exponent);
      if (norm <= 2 * loop.rtol_norm || norm <= 2 * loop.atol_norm) s->pq = 0;
      s->ru = total[1];
      s->pr = s->pq == 0 ? s->ru : total[0];
    }
  };
  struct first_direction {
    const scalars* s;
    const T* u;
    T* p;
    WHILST_HD void operator()(index_type i) const {
      if (s->pq == 0) p[i] = u[i];
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };

  struct dot_with_p {
    static constexpr int blocks_wanted = 4;
    struct nothing {};
    WHILST_HD nothing read(index_type) const { return {}; }
    WHILST_HD auto operator()(const nothing&, T q, T p) const {
      return sums{static_cast<double>(p) * static_cast<double>(q)};
    }
    index_type bytes(index_type) const { return 0; }
  };
  /// The verdict on r, and alpha.
  struct choose_step {
    scalars* s;
    const double* factor;  ///< of A; null for 1
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      const double f = factor ? *factor : 1.0, curvature = f * total[0], alpha = s->pr / curvature;
      if (loop.check(s->norm)) return;
      const bool fit = is_finite(curvature) && is_finite(static_cast<T>(alpha)) && is_finite(static_cast<T>(alpha * f));
      if (s->ru > 0 && curvature > 0 && fit) [[likely]] {
        s->alpha = alpha;
        s->alpha_factor = alpha * f;
        s->pq = total[0];
        return;
      }
      s->pq = 0;
      loop.stop(!is_finite(s->ru) || !is_finite(curvature) ? reason::nan_or_infinity
                : s->ru <= 0                               ? reason::indefinite_preconditioner
                : curvature <= 0                           ? reason::indefinite_operator
                                                           : reason::breakdown);
    }
  };

  /// Returns r_i, for M.
  struct recede {
    const scalars* s;
    const T* q;
    T* r;
    WHILST_HD T operator()(index_type i) const {
      return r[i] = static_cast<T>(static_cast<double>(r[i]) - s->alpha_factor * static_cast<double>(q[i]));
    }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct dots {
    const T *r, *u, *q;
    WHILST_HD auto operator()(index_type i) const {
      const double ri = r[i], ui = u[i], qi = q[i];
      return sums{ri * ui, ui * qi, ri * ri};
    }
    index_type bytes(index_type n) const { return (r == u ? 2 : 3) * n * static_cast<index_type>(sizeof(T)); }
  };
  /// Both, for a pointwise M: the sums are of what is in registers.
  struct recede_and_dots {
    static constexpr int blocks_wanted = 6;
    const scalars* s;
    Preconditioner M;
    const T* q;
    T *r, *u;
    struct entries {
      double alpha_factor;
      T q, r;
    };
    WHILST_HD entries read(index_type i) const { return {s->alpha_factor, q[i], r[i]}; }
    WHILST_HD auto operator()(index_type i, const entries& e) const {
      const double qi = e.q;
      const T receded = static_cast<T>(static_cast<double>(e.r) - e.alpha_factor * qi), applied = M(i, receded);
      r[i] = receded;
      if constexpr (!Preconditioner::is_identity) u[i] = applied;
      const double ri = receded, ui = applied;
      if constexpr (Preconditioner::is_identity) {
        return sums{ri * ri, ri * qi};
      } else {
        return sums{ri * ui, ui * qi, ri * ri};
      }
    }
    index_type bytes(index_type n) const requires says_own_bytes<Preconditioner> {
      return bytes_of(M, n) + (Preconditioner::is_identity ? 3 : 4) * n * static_cast<index_type>(sizeof(T));
    }
  };
  struct choose_direction {
    weights* handed;
    scalars* s;
    struct known {
      double alpha, pq;
    };
    WHILST_HD known read() const { return {s->alpha, s->pq}; }
    template <int k>
    WHILST_HD void operator()(const sums<double, k>& total, loop_state&, const known& last) const {
      const double beta = -total[1] / last.pq, rr = total[k == 2 ? 0 : 2];
      s->pr = s->ru = total[0];
      s->norm = sqrt(rr);
      *handed = {last.alpha, is_finite(static_cast<T>(beta)) ? beta : 0};  // 0: a first direction again
    }
  };
  struct advance {
    static constexpr int blocks_wanted = 4;
    const weights* handed;
    const T* u;
    X* x;
    T* p;
    WHILST_HD void operator()(index_type i) const {
      const double pi = p[i];
      x[i] = static_cast<X>(static_cast<double>(x[i]) + handed->alpha * pi);
      p[i] = static_cast<T>(static_cast<double>(u[i]) + handed->beta * pi);
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(2 * sizeof(X) + 3 * sizeof(T)); }
  };

  template <class Run>
  void prepare(Run& run) const {
    run.once("no direction yet", forget_direction{s});
  }
  template <class Run>
  void start(Run& run) const {
    precondition(run, M, A.rows(), r, u);
    run.step("(p,r), (r,u), (r,r)", A.rows(), first_dots{p, r, u}, begin{s});
    run.step("p = u, unless it is kept", A.rows(), first_direction{s, u, p});
  }
  template <class Run>
  void iterate(Run& run) const {
    const index_type n = A.rows();
    const char* const next = "x += alpha p, p = u + beta p";
    product(run, "q = A p, (p,q)", without_factor(A), p, q, dot_with_p{}, choose_step{s, factor_of(A)});
    if constexpr (Preconditioner::pointwise) {
      run.step("r -= alpha q, (r,u), (u,q), (r,r)", n, recede_and_dots{s, M, q, r, u}, choose_direction{handed, s},
               next, advance{handed, u, x, p});
    } else {
      update(run, "r -= alpha q", n, preconditioned(M, recede{s, q, r}, r, u));
      run.step("(r,u), (u,q), (r,r)", n, dots{r, u, q}, choose_direction{handed, s}, next, advance{handed, u, x, p});
    }
  }
};

template <class T, class Operator, class Preconditioner>
struct flexible_conjugate_gradient : flexible_conjugate_gradient_loop<T, T, Operator, Preconditioner> {
  static constexpr const char* name = "flexible-cg";
  using flexible_conjugate_gradient_loop<T, T, Operator, Preconditioner>::flexible_conjugate_gradient_loop;
};

}  // namespace whilst
