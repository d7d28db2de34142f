// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/rectangular/record_least_squares.hpp"

namespace whilst {

/// LSMR: D. C.-L. Fong, M. Saunders, "LSMR: an iterative algorithm for sparse least-squares problems", SIAM J. Sci.
/// Comput. 33 (2011), section 2.8; preconditioned as lsqr is. It is MINRES for A'A x = A'b, as LSQR is conjugate
/// gradients: ||A'r|| falls in every iteration (with an M, in the norm of M), and so do ||r|| and the error of x. Three
/// steps an iteration: two products, and the update of x.
///
/// The norms tested are ||r||, from the recurrences of section 5.1, and ||A'r|| / ||r||. The recurrences know ||A'r||
/// in the norm of M; with the last p, for which both norms are known, it becomes about that of the 2-norm.
template <class T, class Operator, class Preconditioner>
struct lsmr {
  static constexpr const char* name = "lsmr";
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs{.definite_preconditioner = true, .transpose = true};

  struct weights {
    weights_of_entry u, p;
    double hbar_of_hbar, hbar_of_x, v_of_h, h_of_h;
  };
  /// Of the paper, with its names; those of the last iteration where an iteration makes new ones.
  struct rotations {
    double alpha, beta, alphabar;
    double rho, rhobar, cbar, sbar, zetabar;
    double rhodot, thetatilde, tautilde, betadot, betadoubledot, zeta;  ///< for ||r||
    double residual_norm, ratio;
  };

  Operator A;
  Preconditioner M;
  const double* tolerance;
  bidiagonalization<T, Operator, Preconditioner> vectors;
  T *x, *h, *hbar;
  weights* handed;
  rotations* known;

  lsmr(const Operator& A, const Preconditioner& M, T* x, T* r, const double* tolerance, workspace& memory)
      : A(A), M(M), tolerance(tolerance), vectors(A, M, r, memory), x(x) {
    h = memory.take<T>(vectors.columns);
    hbar = memory.take<T>(vectors.columns);
    handed = memory.take<weights>(1);
    known = memory.take<rotations>(1);
  }

  struct note_beta {
    weights* handed;
    rotations* known;
    const double* factor;  ///< of A
    WHILST_HD void operator()(const sums<double, 1>& uu) const {
      const double beta = known->beta = sqrt(uu[0]);
      handed->p.product = beta > 0 ? *factor / beta : 0;
      handed->p.last = known->alpha > 0 ? -beta / known->alpha : 0;
    }
  };

  struct make_p {
    Preconditioner M;
    const weights* handed;
    T *p, *v;
    index_type rows;  ///< of A, for bytes() only
    struct entries {
      weights_of_entry by;
      T p;
    };
    WHILST_HD entries read(index_type j) const { return {handed->p, p[j]}; }
    WHILST_HD auto operator()(index_type j, const entries& e, T Au) const {
      const T pj = static_cast<T>(e.by.product * static_cast<double>(Au) + e.by.last * static_cast<double>(e.p));
      p[j] = pj;
      return preconditioned_entry(M, j, pj, v);
    }
    index_type bytes(index_type n) const { return ((v == p ? 2 : 3) * n + rows) * static_cast<index_type>(sizeof(T)); }
  };
  /// Stops for an M that is not definite, with x as it was. For an A that is exhausted, alpha is 0.
  WHILST_HD static bool note_alpha(rotations& now, const sums<double, 2>& total, loop_state& loop) {
    const double pv = total[0], pp = total[1];
    now.alpha = sqrt(pv);
    if (is_finite(pv) && is_finite(pp) && (pv > 0 || pp == 0)) return false;
    return loop.stop(!is_finite(pv) || !is_finite(pp) ? reason::nan_or_infinity
                     : pv < 0                         ? reason::indefinite_preconditioner
                                                      : reason::breakdown);
  }
  /// The two rotations, the weights of the update and what it makes of the norms.
  struct rotate {
    weights* handed;
    rotations* known;
    const double* factor;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      rotations& now = *known;
      const rotations last = now;
      if (note_alpha(now, total, loop)) return;
      now.rho = length_of(last.alphabar, last.beta);
      const double c = last.alphabar / now.rho, s = last.beta / now.rho, theta = s * now.alpha;
      now.alphabar = c * now.alpha;
      const double thetabar = last.sbar * now.rho, turned = last.cbar * now.rho;
      now.rhobar = length_of(turned, theta);
      now.cbar = turned / now.rhobar;
      now.sbar = theta / now.rhobar;
      now.zeta = now.cbar * last.zetabar;
      now.zetabar = -now.sbar * last.zetabar;
      handed->hbar_of_hbar = -thetabar * now.rho / (last.rho * last.rhobar);
      handed->hbar_of_x = now.zeta / (now.rho * now.rhobar);
      handed->v_of_h = now.alpha > 0 ? 1 / now.alpha : 0;
      handed->h_of_h = -theta / now.rho;
      handed->u.product = now.alpha > 0 ? *factor / now.alpha : 0;
      handed->u.last = now.beta > 0 ? -now.alpha / now.beta : 0;
      measure_residual(now, last, c, s, thetabar);
      const double to_2_norm = now.alpha > 0 ? sqrt(total[1]) / now.alpha : 1;
      now.ratio = now.residual_norm > 0 ? fabs(now.zetabar) * to_2_norm / now.residual_norm : 0;
      const bool fit = is_finite(static_cast<T>(handed->hbar_of_hbar)) && is_finite(static_cast<T>(handed->hbar_of_x));
      if (!fit) loop.stop(is_finite(now.rho) ? reason::breakdown : reason::nan_or_infinity);
    }
    WHILST_HD static void measure_residual(rotations& now, const rotations& last, double c, double s, double thetabar) {
      const double betahat = c * last.betadoubledot;
      now.betadoubledot = -s * last.betadoubledot;
      const double rhotilde = length_of(last.rhodot, thetabar);
      const double ctilde = last.rhodot / rhotilde, stilde = thetabar / rhotilde;
      now.thetatilde = stilde * now.rhobar;
      now.rhodot = ctilde * now.rhobar;
      now.betadot = -stilde * last.betadot + ctilde * betahat;
      now.tautilde = (last.zeta - last.thetatilde * last.tautilde) / rhotilde;
      const double taudot = (now.zeta - now.thetatilde * now.tautilde) / now.rhodot;
      now.residual_norm = length_of(now.betadot - taudot, now.betadoubledot);
    }
  };

  struct advance {
    const weights* handed;
    const T* v;
    T *h, *hbar, *x;
    WHILST_HD void operator()(index_type j) const {
      const double hj = h[j], next = hj + handed->hbar_of_hbar * static_cast<double>(hbar[j]);
      hbar[j] = static_cast<T>(next);
      x[j] = static_cast<T>(static_cast<double>(x[j]) + handed->hbar_of_x * next);
      h[j] = static_cast<T>(handed->v_of_h * static_cast<double>(v[j]) + handed->h_of_h * hj);
    }
    index_type bytes(index_type n) const { return 7 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct judge {
    const rotations* known;
    const double* tolerance;
    WHILST_HD void operator()(loop_state& loop) const {
      if (loop.check(known->residual_norm)) return;
      if (known->ratio <= *tolerance) {
        loop.stop(reason::converged_normal);
      } else if (!is_finite(known->ratio) || known->alpha == 0) {
        loop.stop(known->alpha == 0 ? reason::breakdown : reason::nan_or_infinity);
      }
    }
  };

  struct begin {
    weights* handed;
    rotations* known;
    const double* factor;
    WHILST_HD void operator()(const sums<double, 1>& uu) const {
      const double beta = sqrt(uu[0]);
      *known = {};
      known->beta = known->betadoubledot = known->residual_norm = beta;
      known->rho = known->rhobar = known->cbar = known->rhodot = 1;
      *handed = {};
      handed->p.product = *factor / beta;
    }
  };
  struct begin_rotations {
    weights* handed;
    rotations* known;
    const double *factor, *tolerance;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      rotations& now = *known;
      if (note_alpha(now, total, loop)) return;
      now.alphabar = now.alpha;
      now.zetabar = now.alpha * now.beta;
      now.ratio = sqrt(total[1]);
      handed->v_of_h = now.alpha > 0 ? 1 / now.alpha : 0;
      handed->u.product = now.alpha > 0 ? *factor / now.alpha : 0;
      handed->u.last = -now.alpha / now.beta;
      const judge verdict{known, tolerance};
      verdict(loop);
    }
  };

  void start(recorder& run) const {
    vectors.clear(run, h, hbar);
    vectors.measure_u(run, begin{handed, known, factor_of(A)});
    next_p(run, begin_rotations{handed, known, factor_of(A), tolerance});
    run.step("h = v", vectors.columns, advance{handed, vectors.v, h, hbar, x});
  }
  void iterate(recorder& run) const {
    vectors.multiply(run, "u = A v, (u,u)", A, make_entry<T>{&handed->u, vectors.u, vectors.columns},
                     note_beta{handed, known, factor_of(A)});
    next_p(run, rotate{handed, known, factor_of(A)});
    run.step("hbar, x += hbar, h = v + h", vectors.columns, advance{handed, vectors.v, h, hbar, x},
             judge{known, tolerance});
  }

 private:
  template <class Finish>
  void next_p(recorder& run, const Finish& finish) const {
    vectors.multiply_transposed(run, "p = A'u, v = M p, (p,v)", A, M,
                                make_p{M, handed, vectors.p, vectors.v, vectors.rows}, finish);
  }
};

template <class T>
linear_method<T> lsmr_method() {
  return listed_least_squares<lsmr, T>();
}
template linear_method<WHILST_NUMBER> lsmr_method();

}  // namespace whilst
