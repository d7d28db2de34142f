#pragma once

#include <cmath>

#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// Flexible conjugate gradients: Y. Notay, "Flexible conjugate gradients", SIAM J. Sci. Comput. 22 (2000), FCG(1). The
/// direction is made conjugate to the last one by the product that is there, whatever M did meanwhile: with u = M r and
/// q = A p,
///
///   beta  = -(u, q) / (p, q)      p = u + beta p
///   alpha =  (r, u) / (p, q)      x += alpha p, r -= alpha q
///
/// So M may change from step to step. The direction outlives a restart of linear_solve, which only recomputes r and
/// puts it into other units. Two reductions an iteration, where conjugate_gradient has one, but no recurrence for q,
/// and fewer bytes.
///
/// If A has a factor (see scaled_operator), q leaves it out, as in conjugate_gradient. A and M symmetric positive
/// definite; ends with indefinite_operator or indefinite_preconditioner where it finds out that one is not. x is
/// changed by finite steps only.
template <class T, class Operator, class Preconditioner>
struct flexible_conjugate_gradient {
  static constexpr const char* name = "flexible-cg";
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs{.symmetric = true, .definite = true};
  static constexpr bool lowers_error = true;  ///< in the norm of A, if M stays the same

  struct scalars {
    double alpha, alpha_factor;  ///< alpha_factor: alpha times A's factor
    double gamma;                ///< (r, u)
    double pq;                   ///< (p, q), 0 if there is no direction yet
  };
  struct told {
    double beta;  ///< 0 if there is no direction yet
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *u, *p, *q;
  scalars* s;
  told* of_next;

  /// x and r = b - A x are the caller's, in working memory; the rest is taken from `memory`.
  flexible_conjugate_gradient(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    u = result_of(M, n, r, memory);
    p = memory.take<T>(n);
    q = memory.take<T>(n);
    s = memory.take<scalars>(1);
    of_next = memory.take<told>(1);
  }

  struct forget_direction {
    scalars* s;
    WHILST_HD void operator()() const { s->pq = 0; }
  };

  struct dots {
    const T *r, *u, *q;
    WHILST_HD auto operator()(index_type i) const {
      const double ri = r[i], ui = u[i], qi = q[i];
      return sums{ri * ui, ui * qi, ri * ri};
    }
    index_type bytes(index_type n) const { return (r == u ? 2 : 3) * n * static_cast<index_type>(sizeof(T)); }
  };
  /// The verdict on r, and beta.
  struct choose_direction {
    told* handed;
    scalars* s;
    WHILST_HD double read() const { return s->pq; }
    WHILST_HD void operator()(const sums<double, 3>& total, loop_state& loop, double pq) const {
      const double gamma = total[0], beta = pq != 0 ? -total[1] / pq : 0;
      if (loop.check(sqrt(total[2]))) return;
      if (gamma > 0 && is_finite(static_cast<T>(beta))) [[likely]] {
        handed->beta = beta;
        s->gamma = gamma;
        return;
      }
      s->pq = 0;
      loop.stop(!is_finite(gamma) ? reason::nan_or_infinity
                : gamma <= 0      ? reason::indefinite_preconditioner
                                  : reason::breakdown);
    }
  };
  struct next_direction {
    const told* handed;
    const T* u;
    T* p;
    WHILST_HD void operator()(index_type i) const {
      const T beta = static_cast<T>(handed->beta);
      p[i] = beta == 0 ? u[i] : u[i] + beta * p[i];  // what p holds at first may not even be a number
    }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };

  struct dot_with_p {
    struct nothing {};
    WHILST_HD nothing read(index_type) const { return {}; }
    WHILST_HD auto operator()(const nothing&, T q, T p) const {
      return sums{static_cast<double>(p) * static_cast<double>(q)};
    }
    index_type bytes(index_type) const { return 0; }
  };
  struct choose_step {
    scalars* s;
    const double* factor;  ///< of A; null for 1
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      const double f = factor ? *factor : 1.0, curvature = f * total[0], alpha = s->gamma / curvature;
      if (curvature > 0 && is_finite(static_cast<T>(alpha)) && is_finite(static_cast<T>(alpha * f))) [[likely]] {
        s->alpha = alpha;
        s->alpha_factor = alpha * f;
        s->pq = total[0];
        return;
      }
      s->pq = 0;
      loop.stop(!is_finite(curvature) ? reason::nan_or_infinity
                : curvature <= 0      ? reason::indefinite_operator
                                      : reason::breakdown);
    }
  };

  /// Returns r_i, for M.
  struct advance {
    const scalars* s;
    const T *p, *q;
    T *x, *r;
    WHILST_HD T operator()(index_type i) const {
      x[i] += static_cast<T>(s->alpha) * p[i];
      const T ri = r[i] - static_cast<T>(s->alpha_factor) * q[i];
      r[i] = ri;
      return ri;
    }
    index_type bytes(index_type n) const { return 6 * n * static_cast<index_type>(sizeof(T)); }
  };
  template <class Run>
  void prepare(Run& run) const {
    run.once("no direction yet", forget_direction{s});
  }
  template <class Run>
  void start(Run& run) const {
    precondition(run, M, A.rows(), r, u);
    choose(run);
  }
  template <class Run>
  void iterate(Run& run) const {
    product(run, "q = A p, (p,q)", without_factor(A), p, q, dot_with_p{}, choose_step{s, factor_of(A)});
    update(run, "x += alpha p, r -= alpha q", A.rows(), preconditioned(M, advance{s, p, q, x, r}, r, u));
    choose(run);
  }

 private:
  template <class Run>
  void choose(Run& run) const {
    run.step("(r,u), (u,q), (r,r)", A.rows(), dots{r, u, q}, choose_direction{of_next, s}, "p = u + beta p",
             next_direction{of_next, u, p});
  }
};

}  // namespace whilst
