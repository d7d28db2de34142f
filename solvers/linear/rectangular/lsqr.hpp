#pragma once

#include "solvers/linear/rectangular/bidiagonalization.hpp"
#include "whilst/linear/method_settings.hpp"

namespace whilst {

/// LSQR: C. C. Paige, M. A. Saunders, "LSQR: an algorithm for sparse linear equations and sparse least squares", ACM
/// Trans. Math. Softw. 8 (1982), section 4; preconditioned by M, close to the inverse of A'A, as in S. R. Arridge, M.
/// M. Betcke, L. Harhanen, "Iterated preconditioned LSQR method for inverse problems on unstructured grids", Inverse
/// Problems 30 (2014), algorithm 3. The vectors of the bidiagonalization are not normalized, since their norms are
/// known only after they are: with beta = ||u||, v = M p and alpha^2 = (p, v),
///
///   u <- A v / alpha - (alpha / beta) u          p <- A'u / beta - (beta / alpha) p
///
/// Two steps an iteration, a product each: all else is done to entries that they have at hand, and each of the two
/// norms is a sum of one of them. ||r|| falls in every iteration, and so does the error of x. The norms tested are
/// ||r||, and
/// ||A'r|| / ||r||, which the recurrences give.
template <class T, class Operator, class Preconditioner>
struct lsqr {
  static constexpr const char* name = "lsqr";
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs{.definite_preconditioner = true, .transpose = true};

  /// For the entries of u; of p; of x and w.
  struct alignas(16) weights {
    weights_of_entry u, p;
    double v_of_w, w_of_w, w_of_x;
  };
  struct rotations {
    double alpha, beta;
    double rhobar, phibar, c, s, rho;
  };

  Operator A;
  Preconditioner M;
  const double* tolerance;
  bidiagonalization<T, Operator, Preconditioner> vectors;
  T *x, *w;
  weights* handed;
  rotations* known;

  lsqr(const Operator& A, const Preconditioner& M, T* x, T* r, const double* tolerance, workspace& memory)
      : A(A), M(M), tolerance(tolerance), vectors(A, M, r, memory), x(x) {
    w = memory.take<T>(vectors.columns);
    handed = memory.take<weights>(1);
    known = memory.take<rotations>(1);
  }

  /// The rotation that takes beta out of the bidiagonal matrix.
  struct rotate {
    weights* handed;
    rotations* known;
    const double* factor;  ///< of A
    WHILST_HD void operator()(const sums<double, 1>& uu) const {
      rotations& now = *known;
      const double beta = sqrt(uu[0]);
      now.beta = beta;
      now.rho = length_of(now.rhobar, beta);
      now.c = now.rho > 0 ? now.rhobar / now.rho : 1;
      now.s = now.rho > 0 ? beta / now.rho : 0;
      // Where rho is 0, A has nothing more to say, and w is 0.
      handed->w_of_x = now.rho > 0 ? now.c * now.phibar / now.rho : 0;
      now.phibar = now.s * now.phibar;
      handed->p.product = beta > 0 ? *factor / beta : 0;
      handed->p.last = now.alpha > 0 ? -beta / now.alpha : 0;
    }
  };

  struct make_p {
    Preconditioner M;
    const weights* handed;
    T *p, *v, *w, *x;
    index_type rows;  ///< of A, for bytes() only
    struct entries {
      weights told;
      T p, v, w, x;
    };
    WHILST_HD entries read(index_type j) const { return {*handed, p[j], v[j], w[j], x[j]}; }
    WHILST_HD auto operator()(index_type j, const entries& e, T Au) const {
      const double wj = e.told.v_of_w * static_cast<double>(e.v) + e.told.w_of_w * static_cast<double>(e.w);
      w[j] = static_cast<T>(wj);
      x[j] = static_cast<T>(static_cast<double>(e.x) + e.told.w_of_x * wj);
      const T pj =
          static_cast<T>(e.told.p.product * static_cast<double>(Au) + e.told.p.last * static_cast<double>(e.p));
      p[j] = pj;
      return preconditioned_entry(M, j, pj, v);
    }
    index_type bytes(index_type n) const {  // p, w, x, and v if it is not p
      return ((v == p ? 6 : 8) * n + rows) * static_cast<index_type>(sizeof(T));
    }
  };
  struct judge {
    weights* handed;
    rotations* known;
    const double *factor, *tolerance;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      rotations& now = *known;
      const double pv = total[0], pp = total[1];
      if (loop.check(now.phibar)) return;
      if (!is_finite(pv) || !is_finite(pp) || pv < 0) {
        loop.stop(pv < 0 ? reason::indefinite_preconditioner : reason::nan_or_infinity);
        return;
      }
      // A'r is phibar c p.
      if (fabs(now.c) * sqrt(pp) <= *tolerance) {
        loop.stop(reason::converged_normal);
        return;
      }
      const double alpha = sqrt(pv);
      if (!is_finite(static_cast<T>(1 / alpha))) {  // M is singular, or nearly
        loop.stop(reason::breakdown);
        return;
      }
      handed->u.product = *factor / alpha;
      handed->u.last = -alpha / now.beta;
      handed->v_of_w = 1 / alpha;
      handed->w_of_w = now.rho > 0 ? -now.s * alpha / now.rho : 0;
      now.alpha = alpha;
      now.rhobar = -now.c * alpha;
    }
  };

  struct begin {
    weights* handed;
    rotations* known;
    const double* factor;
    WHILST_HD void operator()(const sums<double, 1>& uu) const {
      const double beta = sqrt(uu[0]);
      *known = {.alpha = 0, .beta = beta, .rhobar = 0, .phibar = beta, .c = -1, .s = 0, .rho = 0};
      *handed = {};
      handed->p.product = *factor / beta;
    }
  };

  template <class Run>
  void start(Run& run) const {
    vectors.clear(run, w, w);
    vectors.measure_u(run, begin{handed, known, factor_of(A)});
    next_p(run);
  }
  template <class Run>
  void iterate(Run& run) const {
    vectors.multiply(run, "u = A v, (u,u), rotation", A, make_entry<T>{&handed->u, vectors.u, vectors.columns},
                     rotate{handed, known, factor_of(A)});
    next_p(run);
  }

 private:
  template <class Run>
  void next_p(Run& run) const {
    vectors.multiply_transposed(run, "p = A'u, v = M p, w, x, (p,v)", A, M,
                                make_p{M, handed, vectors.p, vectors.v, w, x, vectors.rows},
                                judge{handed, known, factor_of(A), tolerance});
  }
};

}  // namespace whilst
