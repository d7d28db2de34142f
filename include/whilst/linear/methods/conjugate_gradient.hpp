#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// Preconditioned conjugate gradients with one reduction an iteration: A. T. Chronopoulos and C. W. Gear, "s-step
/// iterative methods for symmetric linear systems", J. Comput. Appl. Math. 25 (1989), algorithm 2.2; preconditioned as
/// in E. D'Azevedo, V. Eijkhout, C. Romine, LAPACK Working Note 56 (1992).
///
/// With u = M r and w = A u, one step yields (r, u), (w, u) and (r, r); from these follow beta and the curvature
/// (p, A p) = (w, u) - beta^2 (p, A p)_old, and with them the update of p, q = A p, x and r. Two steps an iteration
/// where M is pointwise, three where it is not. The recurrence for q drifts sooner than a product A p would; the caller
/// checks the recomputed residual and restarts (see linear_solve).
///
/// If A has a factor (see scaled_operator), w leaves it out, which saves a load in each row, and its readers multiply
/// by it.
///
/// A and M symmetric positive definite; ends with indefinite_operator or indefinite_preconditioner where it finds out
/// that one is not. x is changed by finite steps only.
template <class T, class Operator, class Preconditioner>
struct conjugate_gradient {
  static constexpr const char* name = "cg";
  static constexpr bool runs_in_kernel = Preconditioner::runs_in_kernel, spans_blocks = true;
  static constexpr method_needs needs{.symmetric = true, .definite = true};
  static constexpr bool lowers_error = true;  ///< in the norm of A

  struct alignas(16) scalars {
    double alpha, beta;  ///< beta is 0 in the first iteration
    double factor;       ///< of A
    double gamma, curvature;
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *u, *w, *p, *q;
  scalars* s;

  /// x and r = b - A x are the caller's, in working memory; the rest is taken from `memory`.
  WHILST_HD conjugate_gradient(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    u = result_of(M, n, r, memory);
    w = memory.vector<T>(n);
    p = memory.vector<T>(n);
    q = memory.vector<T>(n);
    s = memory.take<scalars>(1);
  }

  struct dots {
    static constexpr int blocks_wanted = 4;
    const T* r;
    WHILST_HD T read(index_type i) const { return Preconditioner::is_identity ? T(0) : r[i]; }
    WHILST_HD auto operator()(T r, T w, T u) const {
      const double wi = w, ui = u, ri = Preconditioner::is_identity ? u : r;
      if constexpr (Preconditioner::is_identity) {
        return sums{ri * ri, ri * wi};
      } else {
        return sums{ri * ui, ui * wi, ri * ri};
      }
    }
    index_type bytes(index_type n) const { return Preconditioner::is_identity ? 0 : n * index_type{sizeof(T)}; }
  };

  struct choose_step {
    static constexpr bool by_each_block = true;
    scalars* handed;
    const double* factor;  ///< of A; null for 1
    struct known {
      scalars last;
      double factor;
      double inverse_gamma = 0;
    };
    WHILST_HD known read() const { return {*handed, factor ? *factor : 1.0}; }
    WHILST_HD void prepare(known& before) const { before.inverse_gamma = 1 / before.last.gamma; }
    template <int k>
    WHILST_HD void operator()(const sums<double, k>& total, loop_state& loop, const known& before) const {
      const scalars& last = before.last;
      const double gamma = total[0], delta = before.factor * total[1], rr = total[k == 2 ? 0 : 2];
      const bool first = loop.iteration + loop.updating == loop.first_iteration;
      // The inverse of a gamma below 1e-308 overflows.
      const double inverse = before.inverse_gamma;
      const double beta = first ? 0 : is_finite(inverse) ? gamma * inverse : gamma / last.gamma;
      const double curvature = first ? delta : delta - beta * beta * last.curvature;
      const double alpha = gamma / curvature;
      if (loop.check(sqrt(rr))) return;
      const bool fit = is_finite(static_cast<T>(alpha)) && is_finite(static_cast<T>(beta));
      if (gamma > 0 && curvature > 0 && fit) [[likely]] {
        *handed = {alpha, beta, before.factor, gamma, curvature};
        return;
      }
      loop.stop(!is_finite(gamma) || !is_finite(delta) ? reason::nan_or_infinity
                : gamma <= 0                           ? reason::indefinite_preconditioner
                : curvature <= 0                       ? reason::indefinite_operator
                                                       : reason::breakdown);
    }
  };

  struct advance {
    static constexpr bool fetches_constants = false;
    const scalars* handed;
    T *x, *r;
    const T *u, *w;
    T *p, *q;
    static constexpr int blocks_wanted = 4;
    struct own {
      T x, r, u, p, q;
    };
    struct entries {
      scalars handed;
      T x, r, u, p, q, w;
    };
    // The step before writes w and the scalars only.
    template <class Team>
    WHILST_HD own fetch(index_type i, const Team& team) const {
      const T ui = team.early(u + i);
      return {team.early(x + i), Preconditioner::is_identity ? ui : team.early(r + i), ui, team.early(p + i),
              team.early(q + i)};
    }
    template <class Team>
    WHILST_HD entries read(index_type i, const Team&, const own& e) const {
      return {*handed, e.x, e.r, e.u, e.p, e.q, w[i]};
    }
    WHILST_HD T operator()(index_type i, const entries& e) const {
      const T alpha = static_cast<T>(e.handed.alpha), beta = static_cast<T>(e.handed.beta);
      // What p and q hold at first may not even be a number.
      const bool first = beta == 0;
      const T pi = first ? e.u : e.u + beta * e.p;
      const T wi = static_cast<T>(e.handed.factor) * e.w, qi = first ? wi : wi + beta * e.q;
      p[i] = pi;
      q[i] = qi;
      x[i] = e.x + alpha * pi;
      const T ri = e.r - alpha * qi;
      r[i] = ri;
      return ri;
    }
    index_type bytes(index_type n) const {  // x, r, p, q read and written, w read; u read, unless it is r
      return (Preconditioner::is_identity ? 9 : 10) * n * static_cast<index_type>(sizeof(T));
    }
  };

  template <class Run>
  WHILST_HD void start(Run& run) const {
    precondition(run, M, A.rows(), r, u);
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    product(run, "w = A u, (r,u), (w,u)", without_factor(A), u, w, dots{r}, choose_step{s, factor_of(A)},
            "p, q, x += alpha p, r -= alpha q", preconditioned(M, advance{s, x, r, u, w, p, q}, r, u));
  }
};

}  // namespace whilst
