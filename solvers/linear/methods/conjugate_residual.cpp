// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/products.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Conjugate residuals, for symmetric matrices: Y. Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed. (2003),
/// algorithm 6.20; preconditioned by a positive definite M, so that the residual's norm in M falls. With z = M r, q = A
/// p and u = M q,
///
///   alpha = (z, A z) / (q, u)      x += alpha p, r -= alpha q, z -= alpha u
///   beta = (z, A z) / (z, A z)_old
///
/// One product with A and one with M an iteration; q and z follow recurrences, and the caller restarts where these have
/// drifted (see linear_solve). Where M is linear only to fewer digits than T has, z loses M r and the residual stalls.
/// The norm tested is ||r||_2. Four steps an iteration, three if there is no M, beside what A and M record themselves.
///
/// If A is indefinite, (z, A z) may vanish although r does not; the end is then breakdown, as it is if A p or M q
/// does. (q, u) < 0 ends with indefinite_preconditioner. x is changed by finite steps only.
template <class T, class Operator, class Preconditioner>
struct conjugate_residual {
  static constexpr const char* name = "cr";
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{
      .symmetric = true, .definite_preconditioner = true, .linear_preconditioner = true};

  struct scalars {
    double alpha, beta;  ///< beta is 0 in the first iteration
    double rho;          ///< (z, A z), 0 before the first iteration
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *z, *w, *p, *q, *u;
  scalars* s;

  conjugate_residual(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    z = result_of(M, n, r, memory);
    w = memory.take<T>(n);
    p = memory.take<T>(n);
    q = memory.take<T>(n);
    u = result_of(M, n, q, memory);
    s = memory.take<scalars>(1);
  }

  struct norm_at_start {
    const T* r;
    WHILST_HD auto operator()(index_type i) const {
      const double ri = r[i];
      return sums{ri * ri};
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  struct judge_start {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const {
      s->rho = 0;
      loop.check(sqrt(rr[0]));
    }
  };

  struct dot_with_z {
    const T* z;
    WHILST_HD T read(index_type i) const { return z[i]; }
    WHILST_HD auto operator()(T z, T w) const { return sums{static_cast<double>(z) * static_cast<double>(w)}; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  struct choose_beta {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      const double rho = total[0], beta = s->rho != 0 ? rho / s->rho : 0;
      if (rho == 0 || !is_finite(static_cast<T>(beta)) || !is_finite(rho)) {
        loop.stop(is_finite(rho) ? reason::breakdown : reason::nan_or_infinity);
        return;
      }
      s->beta = beta;
      s->rho = rho;
    }
  };

  /// Returns q_i, for M.
  struct next_direction {
    const scalars* s;
    const T *z, *w;
    T *p, *q;
    WHILST_HD T operator()(index_type i) const {
      const T beta = static_cast<T>(s->beta);
      // What p and q hold at first may not even be a number.
      p[i] = beta == 0 ? z[i] : z[i] + beta * p[i];
      const T qi = beta == 0 ? w[i] : w[i] + beta * q[i];
      q[i] = qi;
      return qi;
    }
    index_type bytes(index_type n) const { return 6 * n * static_cast<index_type>(sizeof(T)); }
  };
  /// The same without an M, whose u is q.
  struct next_direction_and_norm {
    next_direction next;
    WHILST_HD auto operator()(index_type i) const {
      const double qi = next(i);
      return sums{qi * qi};
    }
    index_type bytes(index_type n) const { return next.bytes(n); }
  };
  struct dot_with_u {
    const T *q, *u;
    WHILST_HD auto operator()(index_type i) const {
      const double qi = q[i];
      return sums{qi * static_cast<double>(u[i])};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct choose_alpha {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      const double qu = total[0], alpha = s->rho / qu;
      if (qu > 0 && is_finite(qu) && is_finite(static_cast<T>(alpha))) {
        s->alpha = alpha;
        return;
      }
      loop.stop(!is_finite(qu) ? reason::nan_or_infinity
                : qu < 0       ? reason::indefinite_preconditioner
                               : reason::breakdown);
    }
  };

  struct advance {
    const scalars* s;
    const T *p, *q, *u;
    T *x, *r, *z;
    WHILST_HD auto operator()(index_type i) const {
      const T alpha = static_cast<T>(s->alpha);
      x[i] += alpha * p[i];
      const T ri = r[i] - alpha * q[i];
      r[i] = ri;
      if (z != r) z[i] -= alpha * u[i];
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const { return (z == r ? 6 : 9) * n * static_cast<index_type>(sizeof(T)); }
  };
  struct judge {
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const { loop.check(sqrt(rr[0])); }
  };

  template <class Run>
  void start(Run& run) const {
    precondition(run, M, A.rows(), r, z);
    run.step("(r,r)", A.rows(), norm_at_start{r}, judge_start{s});
  }

  template <class Run>
  void iterate(Run& run) const {
    const index_type n = A.rows();
    product(run, "w = A z, (z,w)", A, z, w, dot_with_z{z}, choose_beta{s});
    const next_direction next{s, z, w, p, q};
    if (u == q) {
      run.step("p = z + beta p, q = w + beta q, (q,q)", n, next_direction_and_norm{next}, choose_alpha{s});
    } else {
      update(run, "p = z + beta p, q = w + beta q, u = M q", n, preconditioned(M, next, q, u));
      run.step("(q,u)", n, dot_with_u{q, u}, choose_alpha{s});
    }
    run.step("x += alpha p, r -= alpha q, z -= alpha u", n, advance{s, p, q, u, x, r, z}, judge{});
  }
};

template <class T>
linear_method<T> conjugate_residual_method() {
  return listed<conjugate_residual, T>(record_from_parts<conjugate_residual, T>);
}
template linear_method<WHILST_NUMBER> conjugate_residual_method();

}  // namespace whilst
