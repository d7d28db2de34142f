// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/products.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// TFQMR, for any square matrix: R. W. Freund, "A transpose-free quasi-minimal residual algorithm for non-Hermitian
/// linear systems", SIAM J. Sci. Comput. 14 (1993), algorithm 5.1; right-preconditioned. An iteration is a full step of
/// two halves m, both with the same alpha; y1 and y2 are the paper's y_m, and with B = A M
///
///   v = B y1 + beta (B y2 + beta v)     alpha = (r0, w) / (r0, v)     y2 = y1 - alpha v
///   w -= alpha B y_m                    s_m^2 = ||w||^2 / (tau^2 + ||w||^2), c_m^2 = 1 - s_m^2, tau^2 = s_m^2 tau^2
///   d = M y_m + s_{m-1}^2 (alpha_{m-1} / alpha_m) d                   x += c_m^2 alpha d
///   beta = (r0, w) / (r0, w)_old        y1 = w + beta y2
///
/// Freund's theta_m is s_m / c_m, which may overflow. The norm tested is not his bound tau sqrt(m + 1), but ||r||_2 of
/// r_m = s_m^2 r_{m-1} + c_m^2 w, the residual of x: a recurrence that costs one vector, and no needless iterations.
///
/// Four steps an iteration, beside what A and M record themselves. The sums of the second product see w of both halves,
/// so that one step updates x and r by both; the verdict comes with the next iteration's first finish.
///
/// Ends with breakdown when (r0, w) or (r0, v) vanishes; the caller restarts with a new r0 as long as that helps. r
/// does not rise, but w does, as the residual of CGS, and rounding with it: bicgstab solves more, most of all in float.
/// x is changed by finite steps only.
template <class T, class Operator, class Preconditioner>
struct tfqmr {
  static constexpr const char* name = "tfqmr";
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{};

  /// How one half of the step enters d, x and r.
  struct half {
    double of_d;               ///< d = M y + of_d d
    double of_x;               ///< x += of_x d
    double kept_of_r, w_of_r;  ///< r = kept_of_r r + w_of_r w
  };
  struct scalars {
    double alpha, beta;
    double rho;  ///< (r0, w); 0 if there is no next step
    double tau_squared;
    half first, second;
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *r0, *w, *y1, *y2, *y1_hat, *y2_hat, *By1, *By2, *v, *d;
  scalars* s;

  tfqmr(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory) : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    r0 = memory.take<T>(n);
    w = memory.take<T>(n);
    y1 = memory.take<T>(n);
    y2 = memory.take<T>(n);
    y1_hat = result_of(M, n, y1, memory);
    y2_hat = result_of(M, n, y2, memory);
    By1 = memory.take<T>(n);
    By2 = memory.take<T>(n);
    v = memory.take<T>(n);
    d = memory.take<T>(n);
    s = memory.take<scalars>(1);
  }

  struct begin {
    const T* r;
    T *r0, *w, *y1, *By2, *v, *d;
    WHILST_HD auto operator()(index_type i) const {
      const T ri = r[i];
      r0[i] = w[i] = y1[i] = ri;
      By2[i] = v[i] = d[i] = 0;
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const { return 7 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct note_start {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& rr) const {
      *s = {};
      s->rho = s->tau_squared = rr[0];
    }
  };

  WHILST_HD static T next_v(const scalars& s, T By1, T By2, T v) {
    const T beta = static_cast<T>(s.beta);
    return By1 + beta * (By2 + beta * v);
  }
  struct dots_of_v {
    const scalars* s;
    const T *r, *r0, *By2, *v;
    struct entries {
      T r, r0, By2, v;
    };
    WHILST_HD entries read(index_type i) const { return {r[i], r0[i], By2[i], v[i]}; }
    WHILST_HD auto operator()(const entries& e, T By1) const {
      const double ri = e.r;
      return sums{ri * ri, static_cast<double>(e.r0) * static_cast<double>(next_v(*s, By1, e.By2, e.v))};
    }
    index_type bytes(index_type n) const { return 4 * n * static_cast<index_type>(sizeof(T)); }
  };
  /// The verdict on the last iteration, and the next step.
  struct choose_alpha {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      if (loop.check(sqrt(total[0]))) return;
      const double r0_v = total[1], alpha = s->rho / r0_v;
      const double of_d = s->second.kept_of_r * (s->alpha / alpha);
      const bool fit = is_finite(static_cast<T>(alpha)) && is_finite(static_cast<T>(of_d));
      if (s->rho == 0 || !fit) {
        loop.stop(is_finite(r0_v) ? reason::breakdown : reason::nan_or_infinity);
        return;
      }
      s->alpha = alpha;
      s->first.of_d = of_d;
    }
  };

  /// Returns the entry of y2, for M.
  struct next_y2 {
    const scalars* s;
    const T *By1, *By2, *y1;
    T *v, *w, *y2;
    WHILST_HD T operator()(index_type i) const {
      const T alpha = static_cast<T>(s->alpha), By1_i = By1[i], vi = next_v(*s, By1_i, By2[i], v[i]);
      v[i] = vi;
      w[i] -= alpha * By1_i;
      const T yi = y1[i] - alpha * vi;
      y2[i] = yi;
      return yi;
    }
    index_type bytes(index_type n) const { return 8 * n * static_cast<index_type>(sizeof(T)); }
  };

  WHILST_HD static T next_w(const scalars& s, T w, T By2) { return w - static_cast<T>(s.alpha) * By2; }
  struct dots_of_w {
    const scalars* s;
    const T *w, *r0;
    struct entries {
      T w, r0;
    };
    WHILST_HD entries read(index_type i) const { return {w[i], r0[i]}; }
    WHILST_HD auto operator()(const entries& e, T By2) const {
      const double wi = e.w, next = next_w(*s, e.w, By2);
      return sums{wi * wi, next * next, next * static_cast<double>(e.r0)};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct choose_weights {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 3>& total, loop_state& loop) const {
      const double rho = total[2], beta = rho / s->rho;
      if (!is_finite(total[0]) || !is_finite(total[1]) || !is_finite(rho)) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      weigh(s->first, total[0]);
      s->second.of_d = s->first.kept_of_r;
      weigh(s->second, total[1]);
      // x must first receive what this iteration found: it may be the solution.
      const bool fit = is_finite(static_cast<T>(beta));
      s->beta = fit ? beta : 0;
      s->rho = fit ? rho : 0;
    }

   private:
    /// Given ||w||^2. Where x is the solution already, it stays.
    WHILST_HD void weigh(half& h, double ww) const {
      const double total = s->tau_squared + ww;
      h.kept_of_r = total > 0 ? ww / total : 1;
      h.w_of_r = total > 0 ? s->tau_squared / total : 0;
      h.of_x = h.w_of_r * s->alpha;
      s->tau_squared *= h.kept_of_r;
    }
  };

  /// Returns the entry of y1, for M.
  struct advance {
    const scalars* s;
    const T *By2, *y2, *y1_hat, *y2_hat;
    T *w, *d, *x, *r, *y1;
    WHILST_HD T operator()(index_type i) const {
      const half &one = s->first, &two = s->second;
      const T w1 = w[i], w2 = next_w(*s, w1, By2[i]);
      const T d1 = y1_hat[i] + static_cast<T>(one.of_d) * d[i], d2 = y2_hat[i] + static_cast<T>(two.of_d) * d1;
      x[i] += static_cast<T>(one.of_x) * d1 + static_cast<T>(two.of_x) * d2;
      const T r1 = static_cast<T>(one.kept_of_r) * r[i] + static_cast<T>(one.w_of_r) * w1;
      r[i] = static_cast<T>(two.kept_of_r) * r1 + static_cast<T>(two.w_of_r) * w2;
      w[i] = w2;
      d[i] = d2;
      const T yi = w2 + static_cast<T>(s->beta) * y2[i];
      y1[i] = yi;
      return yi;
    }
    index_type bytes(index_type n) const { return (y2 == y2_hat ? 12 : 13) * n * static_cast<index_type>(sizeof(T)); }
  };

  template <class Run>
  void start(Run& run) const {
    const index_type n = A.rows();
    run.step("r0 = w = y1 = r, (r,r)", n, begin{r, r0, w, y1, By2, v, d}, note_start{s});
    precondition(run, M, n, y1, y1_hat);
  }

  template <class Run>
  void iterate(Run& run) const {
    const index_type n = A.rows();
    product(run, "A M y1, (r,r), (r0,v)", A, y1_hat, By1, dots_of_v{s, r, r0, By2, v}, choose_alpha{s});
    update(run, "v, w -= alpha A M y1, y2 = y1 - alpha v, M y2", n,
           preconditioned(M, next_y2{s, By1, By2, y1, v, w, y2}, y2, y2_hat));
    product(run, "A M y2, (w,w) of both halves, (r0,w)", A, y2_hat, By2, dots_of_w{s, w, r0}, choose_weights{s});
    update(run, "w -= alpha A M y2, d, x, r, y1 = w + beta y2, M y1", n,
           preconditioned(M, advance{s, By2, y2, y1_hat, y2_hat, w, d, x, r, y1}, y1, y1_hat));
  }
};

template <class T>
linear_method<T> tfqmr_method() {
  return listed<tfqmr, T>(record_from_parts<tfqmr, T>);
}
template linear_method<WHILST_NUMBER> tfqmr_method();

}  // namespace whilst
