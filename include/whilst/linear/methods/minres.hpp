#pragma once

#include <limits>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// MINRES, for symmetric matrices, definite or not: C. C. Paige and M. A. Saunders, "Solution of sparse indefinite
/// systems of linear equations", SIAM J. Numer. Anal. 12 (1975); preconditioned by a positive definite M as in S.-C. T.
/// Choi, C. C. Paige, M. A. Saunders, SIAM J. Sci. Comput. 33 (2011), section 6. The Lanczos vectors z_k are not
/// normalized: with u_k = M z_k, beta_k^2 = (z_k, u_k) and alpha_k = (u_k, A u_k) / beta_k^2 from one reduction,
///
///   z_{k+1} = (A u_k - alpha_k z_k) / beta_k - (beta_k / beta_{k-1}) z_{k-1}
///
/// The rotation of step k - 1 needs beta_k. So w and x follow one step behind: step k updates both z and what belongs
/// to u_{k-1}, in one kernel after the product; where the loop stops before that, conclude() makes up for it. Two steps
/// an iteration.
///
/// The norm tested is ||r||_2. Without M the rotations give it. With M they give the norm of M, so r_k = s_k^2 r_{k-1}
/// - (phibar_k c_k / beta_{k+1}) z_{k+1} is updated, and its norm follows from sums of the vectors on the right. Ends
/// with indefinite_preconditioner if (z, M z) < 0, and with breakdown if A is singular and b is not in its range. The
/// caller restarts as long as that helps (see linear_solve).
///
/// Where b is not in the range of A, ||r|| has a least value, and A r goes to zero there. From then on a step lowers
/// ||r||^2 by rounding only, the recurrence for ||r|| is wrong, and x grows without bound. So the loop ends with
/// breakdown where steps hardly lower ||r||^2 any more: x is then about a solution of least squares, in the norm of M.
/// A regular A with a few tiny eigenvalues passes through such a point too. Therefore the restart that follows may take
/// as many iterations as there were before it, and has failed only then.
template <class T, class Operator, class Preconditioner>
struct minres {
  static constexpr const char* name = "minres";
  static constexpr bool runs_in_kernel = Preconditioner::runs_in_kernel, spans_blocks = true;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{.symmetric = true, .definite_preconditioner = true};
  static constexpr bool is_identity = Preconditioner::is_identity;

  /// For the update of z; of w, x and r, which follow.
  struct alignas(16) weights {
    double Au_of_z, z_of_z, before_of_z;
    double u_of_w, w_of_w, before_of_w, phi;
    double r_of_r, z_of_r;
  };
  struct rotations {
    double alpha, beta;                  ///< of the last step
    double c, s, phibar, dbar, epsilon;  ///< of the step before that
    double A_squared;                    ///< a lower bound of ||A||^2, from all restarts
    index_type ends_at;                  ///< 0 until A r has been about zero; then the iteration that ends the restart
  };
  /// The update of x that a loop has left to do if it stops before advance, be it by a verdict or by a cancel.
  struct left_over {
    double u_of_w, w_of_w, before_of_w, phi;
    int side;  ///< 0 for none, 1 if even is the side that came first in the step, 2 if it is odd
  };
  /// Vectors of one step, overwritten by those of the step after the next.
  struct side {
    T *z, *u, *w;
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *Au;
  side even, odd;
  weights* handed;
  rotations* known;
  left_over* left;

  WHILST_HD minres(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory) : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    Au = memory.vector<T>(n);
    for (side* each : {&even, &odd}) {
      each->z = is_identity && each == &even ? r : memory.vector<T>(n);
      each->u = result_of(M, n, each->z, memory);
      each->w = memory.vector<T>(n);
    }
    handed = memory.take<weights>(1);
    known = memory.take<rotations>(1);
    left = memory.take<left_over>(1);
  }

  struct begin {
    const T* r;
    side even, odd;
    WHILST_HD T operator()(index_type i) const {
      odd.z[i] = odd.u[i] = even.w[i] = odd.w[i] = 0;  // which the first step multiplies by 0
      return even.z[i] = r[i];
    }
  };
  struct leave_nothing {
    left_over* left;
    WHILST_HD void operator()() const { left->side = 0; }
  };

  /// (z, u), (u, A u); with M also (z, z), (r, z), (r, r).
  struct dots {
    static constexpr int blocks_wanted = 4;
    const T *z, *r;
    struct entries {
      T z, r;
    };
    WHILST_HD entries read(index_type i) const { return is_identity ? entries{0, 0} : entries{z[i], r[i]}; }
    WHILST_HD auto operator()(const entries& e, T Au, T u) const {
      const double ui = u, zi = e.z, ri = e.r;
      if constexpr (is_identity) {
        return sums{ui * ui, ui * static_cast<double>(Au)};
      } else {
        return sums{zi * ui, ui * static_cast<double>(Au), zi * zi, ri * zi, ri * ri};
      }
    }
    index_type bytes(index_type n) const { return is_identity ? 0 : 2 * n * index_type{sizeof(T)}; }
  };

  /// The rotation of the last step, and the weights of what follows.
  struct rotate {
    weights* handed;
    rotations* known;
    left_over* left;
    const double* factor;  ///< of A; null for 1
    int which;             ///< side, for left_over
    struct entries {
      rotations last;
      double factor;
    };
    WHILST_HD entries read() const { return {*known, factor ? *factor : 1.0}; }
    template <int k>
    WHILST_HD void operator()(const sums<double, k>& total, loop_state& loop, const entries& e) const {
      left->side = 0;  // the step before this one is complete
      const double square = total[0];
      if (!(square >= 0 && is_finite(square))) {
        loop.stop(is_finite(square) ? reason::indefinite_preconditioner : reason::nan_or_infinity);
        return;
      }
      const bool first = loop.iteration + loop.updating == loop.first_iteration;
      const double beta = sqrt(square), alpha = e.factor * total[1] / square;
      rotations now = e.last;
      weights next{};
      next.r_of_r = 1;
      if (first) {
        const bool again = loop.first_iteration > 0;
        now = {0, 0, -1, 0, beta, 0, 0, again ? now.A_squared : 0, again ? now.ends_at : 0};
      } else {
        const double delta = now.c * now.dbar + now.s * now.alpha, epsilon = now.epsilon;
        const double gammabar = now.s * now.dbar - now.c * now.alpha, gamma = length_of(gammabar, beta);
        if (must_end(now, gammabar, gamma, beta, loop.iteration)) {
          *known = now;
          loop.stop(reason::breakdown);
          return;
        }
        now.epsilon = now.s * beta;
        now.dbar = -now.c * beta;
        const double of_gamma = 1 / gamma;
        now.c = gammabar * of_gamma;
        now.s = beta * of_gamma;
        next.phi = now.c * now.phibar;
        now.phibar = now.s * now.phibar;
        next.u_of_w = of_gamma / now.beta;
        next.w_of_w = delta * of_gamma;
        next.before_of_w = epsilon * of_gamma;
        next.before_of_z = beta / now.beta;
        if constexpr (!is_identity) {
          next.r_of_r = now.s * now.s;
          next.z_of_r = beta > 0 ? now.phibar * now.c / beta : 0;  // if beta is 0, the space is exhausted, and so is r
        }
      }
      double norm = now.phibar;
      if constexpr (!is_identity) {
        norm = norm_of_next_r(total, next);
        if (square == 0 && total[2] > 0) {  // M is singular
          loop.stop(reason::breakdown);
          return;
        }
      }
      // Before the verdict: with a singular A there is no norm.
      const bool fit = is_finite(static_cast<T>(next.u_of_w)) && is_finite(static_cast<T>(next.phi));
      if (!first && !fit) {
        loop.stop(is_finite(now.alpha) ? reason::breakdown : reason::nan_or_infinity);
        return;
      }
      if (!first && is_finite(norm)) *left = {next.u_of_w, next.w_of_w, next.before_of_w, next.phi, which};
      if (loop.check(norm)) return;
      now.alpha = alpha;
      now.beta = beta;
      next.Au_of_z = e.factor / beta;
      next.z_of_z = alpha / beta;
      if (!is_finite(static_cast<T>(next.Au_of_z)) ||
          !is_finite(alpha)) {  // of which the first means that M is singular
        loop.stop(is_finite(total[1]) ? reason::breakdown : reason::nan_or_infinity);
        return;
      }
      *known = now;
      *handed = next;
    }
    /// Whether ||r|| before this step is the least there is, or may have been for long enough. The step lowers ||r||^2
    /// by (gammabar / gamma)^2 of it, and the one before lowered it by c^2; one of them alone may be small where A is
    /// indefinite. If gamma is rounding beside A, the space is exhausted. Both bounds were tried: in float,
    /// ill-conditioned systems come near them, while sums in double keep the recurrence true for longer.
    WHILST_HD static bool must_end(rotations& now, double gammabar, double gamma, double beta, index_type iteration) {
      constexpr double epsilon = std::numeric_limits<T>::epsilon();
      constexpr double no_progress = sizeof(T) == 4 ? epsilon / 4 : 256 * epsilon;
      constexpr double rounding = (sizeof(T) == 4 ? 8 : 256) * epsilon;
      const double of_A = now.alpha * now.alpha + beta * beta, of_gamma = gamma * gamma;
      if (of_A > now.A_squared) now.A_squared = of_A;
      const bool is_exhausted = of_gamma <= rounding * rounding * now.A_squared;
      const bool is_least = gammabar * gammabar + now.c * beta * now.c * beta <= no_progress * of_gamma;
      if (!is_exhausted && (now.ends_at > 0 ? iteration < now.ends_at : !is_least)) return false;
      now.ends_at = 2 * iteration + 100;
      return true;
    }
    WHILST_HD static double norm_of_next_r(const sums<double, 5>& total, const weights& next) {
      const double square =
          next.r_of_r * (next.r_of_r * total[4] - 2 * next.z_of_r * total[3]) + next.z_of_r * next.z_of_r * total[2];
      return sqrt(square < 0 ? 0 : square);
    }
  };

  struct advance {
    static constexpr bool fetches_constants = false;
    static constexpr int blocks_wanted = 4;
    const weights* handed;
    const T* Au;
    side now, before;
    T *x, *r;
    struct own {
      T z, z_before, u_before, w, w_before, x, r;
    };
    struct entries {
      weights told;
      own e;
      T Au;
    };
    // The step before writes A u and the weights only.
    template <class Team>
    WHILST_HD own fetch(index_type i, const Team& team) const {
      const T z_before = team.early(before.z + i);
      return {team.early(now.z + i),
              z_before,
              is_identity ? z_before : team.early(before.u + i),
              team.early(now.w + i),
              team.early(before.w + i),
              team.early(x + i),
              is_identity ? T(0) : team.early(r + i)};
    }
    template <class Team>
    WHILST_HD entries read(index_type i, const Team&, const own& e) const {
      return {*handed, e, Au[i]};
    }
    WHILST_HD T operator()(index_type i, const entries& all) const {
      const weights& by = all.told;
      const own& e = all.e;
      const double zi = e.z;
      const double wi = by.u_of_w * static_cast<double>(e.u_before) - by.w_of_w * static_cast<double>(e.w) -
                        by.before_of_w * static_cast<double>(e.w_before);
      before.w[i] = static_cast<T>(wi);
      x[i] = static_cast<T>(static_cast<double>(e.x) + by.phi * wi);
      if constexpr (!is_identity) r[i] = static_cast<T>(by.r_of_r * static_cast<double>(e.r) - by.z_of_r * zi);
      return before.z[i] = static_cast<T>(by.Au_of_z * static_cast<double>(all.Au) - by.z_of_z * zi -
                                          by.before_of_z * static_cast<double>(e.z_before));
    }
    index_type bytes(index_type n) const {  // z, w, A u, the sides before, x; with M also u and r
      return (is_identity ? 9 : 12) * n * static_cast<index_type>(sizeof(T));
    }
  };

  struct catch_up {
    const left_over* left;
    side even, odd;
    T* x;
    WHILST_HD void operator()(index_type i) const {
      if (left->side == 0) return;
      const side &now = left->side == 1 ? even : odd, &before = left->side == 1 ? odd : even;
      const double wi = left->u_of_w * static_cast<double>(before.u[i]) - left->w_of_w * static_cast<double>(now.w[i]) -
                        left->before_of_w * static_cast<double>(before.w[i]);
      x[i] = static_cast<T>(static_cast<double>(x[i]) + left->phi * wi);
    }
    index_type bytes(index_type n) const { return 5 * n * static_cast<index_type>(sizeof(T)); }
  };

  template <class Run>
  WHILST_HD void start(Run& run) const {
    update(run, "z = r, u = M z", A.rows(), preconditioned(M, begin{r, even, odd}, even.z, even.u),
           leave_nothing{left});
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    iterate_once(run, even, odd, 1);
    iterate_once(run, odd, even, 2);
  }

  template <class Run>
  WHILST_HD void conclude(Run& run) const {
    run.step("the last x += phi w", A.rows(), catch_up{left, even, odd, x});
  }

 private:
  template <class Run>
  WHILST_HD void iterate_once(Run& run, const side& now, const side& before, int which) const {
    product(run, "A u, (z,u), (u,Au), rotation", without_factor(A), now.u, Au, dots{now.z, r},
            rotate{handed, known, left, factor_of(A), which}, "z, u = M z, w, x += phi w",
            preconditioned(M, advance{handed, Au, now, before, x, r}, before.z, before.u));
  }
};

}  // namespace whilst
