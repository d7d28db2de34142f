// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/products.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// CGS, for any square matrix: P. Sonneveld, "CGS, a fast Lanczos-type solver for nonsymmetric linear systems", SIAM J.
/// Sci. Stat. Comput. 10 (1989); right-preconditioned, so that r follows the true residual:
///
///   alpha = (r0, r) / (r0, A M p)       q = u - alpha A M p
///   x += alpha M (u + q)                r -= alpha A M (u + q)
///   beta = (r0, r) / (r0, r)_old        u = r + beta q, p = u + beta (q + beta p)
///
/// Four steps an iteration, beside what A and M record themselves: the sums of (u + q)'s product see the next r before
/// it is stored, so that one step updates x, r, u and p. The verdict on it is that of the next iteration's first
/// finish.
///
/// Ends with breakdown when (r0, r) or (r0, A M p) vanishes; the caller restarts with a new r0 as long as that helps.
/// The residual may rise by orders of magnitude meanwhile, and rounding with it: bicgstab solves more, most of all in
/// float. x is changed by finite steps only.
template <class T, class Operator, class Preconditioner>
struct conjugate_gradient_squared {
  static constexpr const char* name = "cgs";
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{};

  struct scalars {
    double alpha, beta;
    double rho, rr;  ///< (r0, r), 0 if there is no next step; and (r, r)
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *r0, *u, *p, *p_hat, *q, *v, *uq, *uq_hat, *t;
  scalars* s;

  conjugate_gradient_squared(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    r0 = memory.take<T>(n);
    u = memory.take<T>(n);
    p = memory.take<T>(n);
    p_hat = result_of(M, n, p, memory);
    q = memory.take<T>(n);
    v = memory.take<T>(n);
    uq = memory.take<T>(n);
    uq_hat = result_of(M, n, uq, memory);
    t = memory.take<T>(n);
    s = memory.take<scalars>(1);
  }

  struct begin {
    const T* r;
    T *r0, *u, *p;
    WHILST_HD auto operator()(index_type i) const {
      const T ri = r[i];
      r0[i] = u[i] = p[i] = ri;
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const { return 4 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct note_start {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& rr) const { *s = {0, 0, rr[0], rr[0]}; }
  };

  struct dot_with_r0 {
    const T* r0;
    WHILST_HD T read(index_type i) const { return r0[i]; }
    WHILST_HD auto operator()(T r0, T vi) const { return sums{static_cast<double>(r0) * static_cast<double>(vi)}; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  /// The verdict on the last iteration, and the next step.
  struct choose_alpha {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& r0_v, loop_state& loop) const {
      if (loop.check(sqrt(s->rr))) return;
      const double alpha = s->rho / r0_v[0];
      s->alpha = alpha;
      if (s->rho == 0 || !is_finite(static_cast<T>(alpha)))
        loop.stop(is_finite(r0_v[0]) ? reason::breakdown : reason::nan_or_infinity);
    }
  };

  /// Returns the entry of u + q, for M.
  struct next_q {
    const scalars* s;
    const T *u, *v;
    T *q, *uq;
    WHILST_HD T operator()(index_type i) const {
      const T ui = u[i], qi = ui - static_cast<T>(s->alpha) * v[i], sum = ui + qi;
      q[i] = qi;
      uq[i] = sum;
      return sum;
    }
    index_type bytes(index_type n) const { return 4 * n * static_cast<index_type>(sizeof(T)); }
  };

  WHILST_HD static T next_residual(const scalars& s, T r, T t) { return r - static_cast<T>(s.alpha) * t; }
  struct dots_of_next {
    const scalars* s;
    const T *r, *r0;
    struct entries {
      T r, r0;
    };
    WHILST_HD entries read(index_type i) const { return {r[i], r0[i]}; }
    WHILST_HD auto operator()(const entries& e, T t) const {
      const double next = next_residual(*s, e.r, t);
      return sums{next * next, next * static_cast<double>(e.r0)};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct choose_beta {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      const double rr = total[0], rho = total[1], beta = rho / s->rho;
      if (!is_finite(rr) || !is_finite(rho)) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      // x must first receive what this iteration found: it may be the solution.
      const bool fit = is_finite(static_cast<T>(beta));
      s->beta = fit ? beta : 0;
      s->rho = fit ? rho : 0;
      s->rr = rr;
    }
  };

  /// Returns the entry of p, for M.
  struct advance {
    const scalars* s;
    const T *t, *q, *uq_hat;
    T *x, *r, *u, *p;
    WHILST_HD T operator()(index_type i) const {
      const T alpha = static_cast<T>(s->alpha), beta = static_cast<T>(s->beta);
      x[i] += alpha * uq_hat[i];
      const T ri = next_residual(*s, r[i], t[i]), qi = q[i], ui = ri + beta * qi;
      r[i] = ri;
      u[i] = ui;
      const T pi = ui + beta * (qi + beta * p[i]);
      p[i] = pi;
      return pi;
    }
    index_type bytes(index_type n) const { return 10 * n * static_cast<index_type>(sizeof(T)); }
  };

  template <class Run>
  void start(Run& run) const {
    const index_type n = A.rows();
    run.step("r0 = u = p = r, (r,r)", n, begin{r, r0, u, p}, note_start{s});
    precondition(run, M, n, p, p_hat);
  }

  template <class Run>
  void iterate(Run& run) const {
    const index_type n = A.rows();
    product(run, "v = A M p, (r0,v)", A, p_hat, v, dot_with_r0{r0}, choose_alpha{s});
    update(run, "q = u - alpha v, M (u + q)", n, preconditioned(M, next_q{s, u, v, q, uq}, uq, uq_hat));
    product(run, "t = A M (u + q), (r,r), (r0,r)", A, uq_hat, t, dots_of_next{s, r, r0}, choose_beta{s});
    update(run, "x += alpha M (u + q), r -= alpha t, u, p, M p", n,
           preconditioned(M, advance{s, t, q, uq_hat, x, r, u, p}, p, p_hat));
  }
};

template <class T>
linear_method<T> conjugate_gradient_squared_method() {
  return listed<conjugate_gradient_squared, T>(record_from_parts<conjugate_gradient_squared, T>);
}
template linear_method<WHILST_NUMBER> conjugate_gradient_squared_method();

}  // namespace whilst
