// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/products.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// MINRES, for symmetric matrices, definite or not: C. C. Paige and M. A. Saunders, "Solution of sparse indefinite
/// systems of linear equations", SIAM J. Numer. Anal. 12 (1975); preconditioned by a positive definite M as in S.-C. T.
/// Choi, C. C. Paige, M. A. Saunders, SIAM J. Sci. Comput. 33 (2011), section 6. The Lanczos vectors z_k have the norms
/// beta_k in M; with v_k = M z_k / beta_k and alpha_k = (v_k, A v_k),
///
///   z_{k+1} = A v_k - (alpha_k / beta_k) z_k - (beta_k / beta_{k-1}) z_{k-1}
///
/// Its own residual norm is that of M; the norm tested is ||r||_2, of r_k = s_k^2 r_{k-1} - (phibar_k c_k / beta_{k+1})
/// z_{k+1}, a recurrence that costs a vector. Ends with indefinite_preconditioner if (z, M z) < 0, and with breakdown
/// if A is singular and b is not in its range. The caller restarts as long as that helps (see linear_solve).
template <class T, class Operator, class Preconditioner>
struct minres {
  static constexpr const char* name = "minres";
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{.symmetric = true, .definite_preconditioner = true};

  struct scalars {
    double alpha, beta, beta_before;     ///< alpha and beta of step k, and beta of step k - 1
    double c, s, phibar, dbar, epsilon;  ///< of the rotations so far
    // For the update of w, x and r.
    double v_of_w, before_of_w, before_that_of_w, phi, kept_of_r, z_of_r, v_of_u;
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *z, *z_before, *u, *v, *Av, *w, *w_before;
  scalars* s;

  minres(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory) : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    z = memory.take<T>(n);
    z_before = memory.take<T>(n);
    u = result_of(M, n, z, memory);
    v = memory.take<T>(n);
    Av = memory.take<T>(n);
    w = memory.take<T>(n);
    w_before = memory.take<T>(n);
    s = memory.take<scalars>(1);
  }

  struct begin {
    const T* r;
    T *z, *z_before, *w, *w_before;
    WHILST_HD T operator()(index_type i) const {
      z_before[i] = w[i] = w_before[i] = 0;
      return z[i] = r[i];
    }
  };
  struct dots_at_start {
    const T *z, *u, *r;
    WHILST_HD auto operator()(index_type i) const {
      const double zi = z[i], ri = r[i];
      return sums{zi * static_cast<double>(u[i]), ri * ri};
    }
  };
  struct judge_start {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      if (loop.check(sqrt(total[1])) || !is_norm(total[0], loop)) return;
      if (total[0] == 0) {  // though r is not: M is singular
        loop.stop(reason::breakdown);
        return;
      }
      const double beta = sqrt(total[0]);
      *s = {};
      s->beta = s->phibar = beta;
      s->c = -1;
      s->v_of_u = 1 / beta;
    }
  };
  /// Whether (z, M z) is the square of a norm; stops the loop if not.
  WHILST_HD static bool is_norm(double square, loop_state& loop) {
    if (square >= 0 && is_finite(square)) return true;
    loop.stop(is_finite(square) ? reason::indefinite_preconditioner : reason::nan_or_infinity);
    return false;
  }
  struct first_v {
    const scalars* s;
    const T* u;
    T* v;
    WHILST_HD void operator()(index_type i) const { v[i] = static_cast<T>(s->v_of_u * static_cast<double>(u[i])); }
  };

  /// (v, A v - (beta / beta_before) z_before), whose last part only rounding makes.
  struct project {
    const scalars* s;
    const T *v, *z_before;
    struct entries {
      T v, z_before;
      double weight;
    };
    WHILST_HD entries read(index_type i) const { return {v[i], z_before[i], weight_of_z_before(*s)}; }
    WHILST_HD auto operator()(const entries& e, T Av) const {
      return sums{static_cast<double>(e.v) * (static_cast<double>(Av) - e.weight * static_cast<double>(e.z_before))};
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  WHILST_HD static double weight_of_z_before(const scalars& s) {
    return s.beta_before > 0 ? s.beta / s.beta_before : 0;
  }
  struct keep_alpha {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      s->alpha = total[0];
      if (!is_finite(total[0])) loop.stop(reason::nan_or_infinity);
    }
  };
  struct next_z {
    const scalars* s;
    const T* Av;
    T *z, *z_before;
    WHILST_HD T operator()(index_type i) const {
      const double zi = z[i], of_z = s->alpha / s->beta, of_z_before = weight_of_z_before(*s);
      const T next = static_cast<T>(static_cast<double>(Av[i]) - of_z * zi - of_z_before * z_before[i]);
      z_before[i] = static_cast<T>(zi);
      return z[i] = next;
    }
    index_type bytes(index_type n) const { return 5 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct dot {
    const T *z, *u;
    WHILST_HD auto operator()(index_type i) const {
      const double zi = z[i];
      return sums{zi * static_cast<double>(u[i]), zi * zi};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  /// The next rotation.
  struct rotate {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      if (!is_norm(total[0], loop)) return;
      if (total[0] == 0 && total[1] > 0) {  // M is singular
        loop.stop(reason::breakdown);
        return;
      }
      scalars now = *s;
      now.beta_before = now.beta;
      now.beta = sqrt(total[0]);
      const double epsilon = now.epsilon, delta = now.c * now.dbar + now.s * now.alpha;
      const double gammabar = now.s * now.dbar - now.c * now.alpha, gamma = hypot(gammabar, now.beta);
      now.epsilon = now.s * now.beta;
      now.dbar = -now.c * now.beta;
      if (!(gamma > 0)) {  // A v is 0 in the space so far
        loop.stop(reason::breakdown);
        return;
      }
      now.c = gammabar / gamma;
      now.s = now.beta / gamma;
      now.phi = now.c * now.phibar;
      now.phibar = now.s * now.phibar;
      now.v_of_w = 1 / gamma;
      now.before_of_w = delta / gamma;
      now.before_that_of_w = epsilon / gamma;
      now.kept_of_r = now.s * now.s;
      // If beta is 0, the space is exhausted, and so is r.
      now.z_of_r = now.beta > 0 ? now.phibar * now.c / now.beta : 0;
      now.v_of_u = now.beta > 0 ? 1 / now.beta : 0;
      const bool fit = is_finite(static_cast<T>(now.v_of_w)) && is_finite(static_cast<T>(now.v_of_u)) &&
                       is_finite(static_cast<T>(now.phi)) && is_finite(static_cast<T>(now.z_of_r));
      if (fit) {
        *s = now;
      } else {
        loop.stop(reason::breakdown);
      }
    }
  };
  struct advance {
    const scalars* s;
    const T *z, *u;
    T *v, *w, *w_before, *x, *r;
    WHILST_HD auto operator()(index_type i) const {
      const double before = w[i];
      const double next = s->v_of_w * static_cast<double>(v[i]) - s->before_of_w * before -
                          s->before_that_of_w * static_cast<double>(w_before[i]);
      w_before[i] = static_cast<T>(before);
      w[i] = static_cast<T>(next);
      x[i] = static_cast<T>(static_cast<double>(x[i]) + s->phi * next);
      const T ri = static_cast<T>(s->kept_of_r * static_cast<double>(r[i]) - s->z_of_r * static_cast<double>(z[i]));
      r[i] = ri;
      v[i] = static_cast<T>(s->v_of_u * static_cast<double>(u[i]));
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const { return 12 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct judge {
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const { loop.check(sqrt(rr[0])); }
  };

  template <class Run>
  void start(Run& run) const {
    const index_type n = A.rows();
    update(run, "z = r, u = M z", n, preconditioned(M, begin{r, z, z_before, w, w_before}, z, u));
    run.step("(z,u), (r,r)", n, dots_at_start{z, u, r}, judge_start{s});
    run.step("v = u / beta", n, first_v{s, u, v});
  }

  template <class Run>
  void iterate(Run& run) const {
    const index_type n = A.rows();
    product(run, "A v, alpha = (v, A v)", A, v, Av, project{s, v, z_before}, keep_alpha{s});
    update(run, "z = A v - alpha z - beta z, u = M z", n, preconditioned(M, next_z{s, Av, z, z_before}, z, u));
    run.step("(z,u), (z,z), rotation", n, dot{z, u}, rotate{s});
    run.step("w, x += phi w, r, v = u / beta", n, advance{s, z, u, v, w, w_before, x, r}, judge{});
  }
};

template <class T>
linear_method<T> minres_method() {
  return listed<minres, T>(record_from_parts<minres, T>);
}
template linear_method<WHILST_NUMBER> minres_method();

}  // namespace whilst
