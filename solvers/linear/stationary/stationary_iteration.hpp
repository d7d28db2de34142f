#pragma once

#include "solvers/linear/stationary/eigenvalue_bounds.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Chebyshev's iteration: Y. Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed. (2003), algorithm 12.1, with
/// M. For the eigenvalues of M A between a and b, theta = (b + a) / 2 and delta = (b - a) / 2,
///
///   x += d, r -= A d      d <- rho rho_before d + 2 rho / delta M r      rho = delta / (2 theta - delta rho_before)
///
/// and Richardson's: the same with delta = 0, which makes d = M r / theta.
///
/// Neither needs a sum to go on: the only one an iteration is that of the norm tested, ||r||. One kernel an iteration
/// where M is pointwise and A has rows. A and M symmetric and definite; ends with indefinite_operator where the bounds
/// say that A is not, and with divergence where an eigenvalue is beyond b. Bounds that are not given are estimated by
/// Lanczos steps, once a solve; b is then a tenth above what they find. Eigenvalues below a converge, too, but slower
/// than the others.
template <class T, class Operator, class Preconditioner, bool accelerates>
struct stationary_iteration {
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{.symmetric = true, .definite = true};
  /// Rows gather d from other rows, and write it: it alternates between two places.
  static constexpr bool is_one_kernel = has_rows<Operator> && Preconditioner::pointwise;
  using bounds_of = eigenvalue_bounds<T, Operator, Preconditioner>;

  struct scalars {
    double theta, delta, rho;
    double d_of_d, z_of_d;
  };

  Operator A;
  Preconditioner M;
  method_settings settings;
  T *x, *r, *even, *odd, *z;
  scalars* known;
  typename bounds_of::lanczos_matrix* lanczos;
  typename bounds_of::weights* handed;

  stationary_iteration(const Operator& A, const Preconditioner& M, T* x, T* r, const method_settings& settings,
                       workspace& memory)
      : A(A), M(M), settings(settings), x(x), r(r) {
    const index_type n = A.rows();
    even = memory.take<T>(n);
    odd = memory.take<T>(n);
    z = result_of(M, n, static_cast<T*>(nullptr), memory);  // null without an M
    known = memory.take<scalars>(1);
    lanczos = memory.take<typename bounds_of::lanczos_matrix>(1);
    handed = memory.take<typename bounds_of::weights>(1);
  }

  /// From the eigenvalues given, and what Lanczos steps found for those that are not.
  struct choose_bounds {
    scalars* known;
    const typename bounds_of::lanczos_matrix* lanczos;
    const double* factor;  ///< of the bounds given; null for 1
    double least_given, greatest_given;
    WHILST_HD void operator()(loop_state& loop) const {
      const double unit = factor ? *factor : 1;
      const bool estimates = lanczos->steps > 0;
      double least = unit * (unit < 0 ? greatest_given : least_given);
      double greatest = unit * (unit < 0 ? least_given : greatest_given);
      constexpr double margin = 1.1, epsilon = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52;
      const double found = estimates ? bounds_of::eigenvalue(*lanczos, lanczos->steps - 1) : 0;
      if (least == 0 && estimates) {
        least = bounds_of::eigenvalue(*lanczos, 0);
        const double rounding = bounds_of::most_steps * epsilon * found;
        if (fabs(least) < rounding) least = rounding;
      }
      if (greatest == 0 && estimates) greatest = margin * found;
      known->theta = (greatest + least) / 2;
      known->delta = accelerates ? (greatest - least) / 2 : 0;
      if (least > 0 && greatest >= least && greatest < HUGE_VAL) return;
      loop.stop(!is_finite(greatest - least) ? reason::nan_or_infinity
                : least > 0                  ? reason::breakdown  // a bound given contradicts what was found
                                             : reason::indefinite_operator);
    }
  };
  struct no_steps {
    typename bounds_of::lanczos_matrix* lanczos;
    WHILST_HD void operator()() const { lanczos->steps = 0; }
  };

  /// Once a solve, while x is not in use yet.
  void prepare(recorder& run) const {
    const bool given = settings.least_eigenvalue != 0 && settings.greatest_eigenvalue != 0;
    if (given) {
      run.once("no Lanczos steps", no_steps{lanczos});
    } else {
      bounds_of::record(run, A, M, settings.lanczos_steps, even, odd, x, z, lanczos, handed);
    }
    const bool takes_factor_back = z && M.made_from_operator();
    run.once("bounds of the eigenvalues", choose_bounds{known, lanczos, takes_factor_back ? nullptr : factor_of(A),
                                                        settings.least_eigenvalue, settings.greatest_eigenvalue});
  }

  struct first_direction {
    Preconditioner M;
    const scalars* known;
    const T *r, *z;
    T* d;
    WHILST_HD auto operator()(index_type i) const {
      const T ri = r[i];
      d[i] = static_cast<T>(known->z_of_d * static_cast<double>(entry_of_z(M, z, i, ri)));
      const double one = ri;
      return sums{one * one};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  WHILST_HD static T entry_of_z(const Preconditioner& M, [[maybe_unused]] const T* z, index_type i, T ri) {
    if constexpr (Preconditioner::pointwise) {
      return M(i, ri);
    } else {
      return z ? z[i] : ri;
    }
  }
  struct begin {
    scalars* known;
    WHILST_HD void operator()() const {
      known->rho = known->delta / known->theta;
      known->z_of_d = 1 / known->theta;
    }
  };
  struct judge {
    scalars* known;
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const {
      const double rho = 1 / (2 * known->theta - known->delta * known->rho);
      known->d_of_d = rho * known->delta * known->rho;
      known->z_of_d = 2 * rho;
      known->rho = rho * known->delta;
      loop.check(sqrt(rr[0]));
    }
  };

  struct advance {
    Preconditioner M;
    const scalars* known;
    const double* factor;
    T *x, *r;
    const T *d, *z;
    T* next;
    struct entries {
      double factor, d_of_d, z_of_d;
      T x, r, d;
    };
    WHILST_HD entries read(index_type i) const {
      return {factor ? *factor : 1.0, known->d_of_d, known->z_of_d, x[i], r[i], d[i]};
    }
    WHILST_HD auto operator()(index_type i, const entries& e, T Ad) const {
      const T ri = static_cast<T>(static_cast<double>(e.r) - e.factor * static_cast<double>(Ad));
      x[i] = e.x + e.d;
      r[i] = ri;
      next[i] =
          static_cast<T>(e.d_of_d * static_cast<double>(e.d) + e.z_of_d * static_cast<double>(entry_of_z(M, z, i, ri)));
      const double one = ri;
      return sums{one * one};
    }
    index_type bytes(index_type n) const { return 6 * n * static_cast<index_type>(sizeof(T)); }
  };
  /// Where M needs r before d can be made.
  struct lower_residual {
    const double* factor;
    const T* Ad;
    T* r;
    WHILST_HD void operator()(index_type i) const {
      r[i] = static_cast<T>(static_cast<double>(r[i]) - (factor ? *factor : 1.0) * static_cast<double>(Ad[i]));
    }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct advance_direction {
    const scalars* known;
    T *x, *d;
    const T *r, *z;
    WHILST_HD auto operator()(index_type i) const {
      const T di = d[i];
      x[i] += di;
      d[i] =
          static_cast<T>(known->d_of_d * static_cast<double>(di) + known->z_of_d * static_cast<double>((z ? z : r)[i]));
      const double ri = r[i];
      return sums{ri * ri};
    }
    index_type bytes(index_type n) const { return (z ? 6 : 5) * n * static_cast<index_type>(sizeof(T)); }
  };

  void start(recorder& run) const {
    const index_type n = A.rows();
    run.once("rho", begin{known});
    if constexpr (!Preconditioner::pointwise) M.record(run, n, r, z);
    run.step("d = M r / theta, (r,r)", n, first_direction{M, known, r, z, even}, judge{known});
  }
  void iterate(recorder& run) const {
    iterate_once(run, even, odd);
    if constexpr (is_one_kernel) iterate_once(run, odd, even);
  }

 private:
  void iterate_once(recorder& run, T* d, T* other) const {
    if constexpr (Preconditioner::pointwise) {
      T* const next = is_one_kernel ? other : d;
      make_from_product(run, "r -= A d, x += d, d", A, d, other, advance{M, known, factor_of(A), x, r, d, z, next},
                        judge{known});
    } else {
      const index_type n = A.rows();
      product_without_factor(run, "A d", A, d, other);
      run.step("r -= A d", n, lower_residual{factor_of(A), other, r});
      M.record(run, n, r, z);
      run.step("x += d, d, (r,r)", n, advance_direction{known, x, d, r, z}, judge{known});
    }
  }
};

}  // namespace whilst
