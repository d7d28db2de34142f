#pragma once

#include <cmath>
#include <utility>

#include "solvers/linear/inverse_of_diagonal.hpp"
#include "solvers/linear/polynomial/polynomial.hpp"
#include "solvers/linear/stationary/eigenvalue_bounds.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst::polynomial {

/// z_0 = 0, z_1 = first D^-1 r, and then, with j from 0 on,
///
///   z_(j+2) = z_(j+1) + of_change[j] (z_(j+1) - z_j) + of_residual[j] D^-1 (r - A z_(j+1))
struct coefficients {
  double first;
  double of_change[most_degree_of_polynomial], of_residual[most_degree_of_polynomial];
};

/// Y. Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed. (2003), algorithm 12.1, from z = 0, for eigenvalues
/// between `least` and `greatest`; its d is the change of z.
WHILST_HD inline void set_chebyshev(coefficients& of, int degree, double least, double greatest) {
  const double theta = (greatest + least) / 2, delta = (greatest - least) / 2;
  double rho = delta / theta;
  of.first = 1 / theta;
  for (int j = 0; j < degree; ++j) {
    const double next = 1 / (2 * theta / delta - rho);
    of.of_change[j] = next * rho;
    of.of_residual[j] = 2 * next / delta;
    rho = next;
  }
}
/// Neumann's series: z += w D^-1 (r - A z).
WHILST_HD inline void set_neumann(coefficients& of, int degree, double w) {
  of.first = w;
  for (int j = 0; j < degree; ++j) {
    of.of_change[j] = 0;
    of.of_residual[j] = w;
  }
}

/// Sets the coefficients from what Lanczos steps found; Bounds: an eigenvalue_bounds. Stops the solve where a Ritz
/// value is negative: M would not be definite.
template <class Bounds>
struct choose_coefficients {
  const typename Bounds::lanczos_matrix* lanczos;
  int degree;
  double ratio;  ///< of the interval's ends; 0 for Neumann's series
  coefficients* chosen;
  static constexpr bool follows_from_totals = true;  ///< the steps took sums over all ranks

  WHILST_HD void operator()(loop_state& loop) const {
    // Ritz values lie below the greatest eigenvalue. Beyond the interval a polynomial may change its sign.
    constexpr double margin = 1.1, negligible = 1e-3;
    if (lanczos->steps == 0) {  // of no rows
      set_neumann(*chosen, degree, 1);
      return;
    }
    const double found = Bounds::eigenvalue(*lanczos, lanczos->steps - 1), greatest = margin * found;
    if (!(found > 0) || Bounds::eigenvalue(*lanczos, 0) < -negligible * found) {
      loop.stop(reason::indefinite_operator);
      return;
    }
    if (ratio > 0) {
      set_chebyshev(*chosen, degree, greatest / ratio, greatest);
    } else {
      set_neumann(*chosen, degree, 1 / greatest);
    }
  }
};
struct set_damping {
  int degree;
  double w;
  coefficients* chosen;
  WHILST_HD void operator()() const { set_neumann(*chosen, degree, w); }
};

struct note_factor {
  const double* from;
  double* to;
  WHILST_HD void operator()() const { *to = *from; }
};

template <class T>
struct first_term {
  const coefficients* of;
  const T *inverse_diagonal, *r;
  T* z;
  WHILST_HD void operator()(index_type i) const { z[i] = static_cast<T>(of->first) * (inverse_diagonal[i] * r[i]); }
  index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
};
/// Of A z_(j+1), where z_(j+2) takes the place of z_j; null for z_0.
template <class T>
struct next_term {
  const coefficients* of;
  const double* factor;  ///< of A
  int j;
  const T *inverse_diagonal, *r, *z, *before;
  T* next;
  struct entries {
    T of_change, of_residual, factor, inverse, r, z, before;
  };
  WHILST_HD entries read(index_type i) const {
    return {static_cast<T>(of->of_change[j]),
            static_cast<T>(of->of_residual[j]),
            static_cast<T>(*factor),
            inverse_diagonal[i],
            r[i],
            z[i],
            before ? before[i] : T(0)};
  }
  WHILST_HD void operator()(index_type i, const entries& e, T Az) const {
    next[i] = e.z + e.of_change * (e.z - e.before) + e.of_residual * (e.inverse * (e.r - e.factor * Az));
  }
  index_type bytes(index_type n) const { return (before ? 5 : 4) * n * static_cast<index_type>(sizeof(T)); }
};

template <class T>
struct set_ones {
  T* inverse;
  WHILST_HD void operator()(index_type i) const { inverse[i] = 1; }
};

/// An operator in parts that somebody else gives memory and prepares.
template <class T>
struct whole_operator {
  static constexpr bool applied_whole = true;
  const linear_operator<T>* parts;  ///< used while recording, never when the steps run

  WHILST_HD index_type rows() const {
#if defined(__CUDA_ARCH__)
    return 0;
#else
    return parts->rows();
#endif
  }
  void apply(recorder& run, const T* x, T* y) const { parts->apply(run, x, y); }
};

/// Records z = M r; `other` and `product` are vectors to work in. z and the first take turns, so that the last term
/// lies in z.
template <class Run, class T, class Operator>
void record_terms(Run& run, index_type n, const Operator& A, const coefficients* of, const double* factor, int degree,
                  const T* inverse_diagonal, const T* r, T* other, T* product, T* z) {
  T* now = degree % 2 ? other : z;
  other = degree % 2 ? z : other;
  run.step("z = c D^-1 r", n, first_term<T>{of, inverse_diagonal, r, now});
  for (int j = 0; j < degree; ++j) {
    make_from_product(run, "z by A z", A, static_cast<const T*>(now), product,
                      next_term<T>{of, factor, j, inverse_diagonal, r, now, j > 0 ? other : nullptr, other});
    std::swap(now, other);
  }
}

/// Records how D^-1 is made of *factor A.
template <class T, class Operator>
void record_inverse_diagonal(recorder& run, const Operator& A, const double* factor, T* inverse) {
  if constexpr (has_rows<Operator>) {
    jacobi_preconditioner<T>{inverse}.prepare(run, scaled_operator<T, Operator>{A, factor});
  } else if (A.parts->has_diagonal()) {
    A.parts->diagonal(run, inverse);
    run.step("invert the diagonal", A.rows(), inverse_of_diagonal<T>{factor, false, inverse});
  } else {
    run.step("no diagonal", A.rows(), set_ones<T>{inverse});
  }
}

}  // namespace whilst::polynomial
