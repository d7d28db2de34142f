#pragma once

#include <cmath>
#include <utility>

#include "solvers/linear/stationary/lanczos_matrix.hpp"
#include "whilst/basics/random_sign.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// Bounds of the eigenvalues of M A, for symmetric A and positive definite M: the extreme Ritz values of some Lanczos
/// steps, see lanczos_matrix, from a vector of random signs.
template <class T, class Operator, class Preconditioner>
struct eigenvalue_bounds {
  using lanczos_matrix = whilst::lanczos_matrix;
  static constexpr int most_steps = lanczos_matrix::most_steps;
  using weights = lanczos_weights;

  static WHILST_HD double eigenvalue(const lanczos_matrix& of, int rank) { return of.eigenvalue(rank); }

  struct begin {
    T *z, *before;
    index_type first;
    WHILST_HD T operator()(index_type i) const {
      before[i] = 0;
      return z[i] = static_cast<T>(random_sign(first + i));
    }
  };
  struct forget {
    lanczos_matrix* made;
    WHILST_HD void operator()() const { made->steps = 0; }
  };
  struct dots {
    const T* z;
    WHILST_HD T read(index_type i) const { return z[i]; }
    WHILST_HD auto operator()(T zi, T Au, T ui) const {
      const double u = ui;
      return sums{static_cast<double>(zi) * u, u * static_cast<double>(Au)};
    }
  };
  struct note {
    lanczos_matrix* made;
    weights* handed;
    int k;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      const double square = total[0];
      *handed = {};
      if (square < 0 || !is_finite(square) || !is_finite(total[1])) {
        loop.stop(square < 0 ? reason::indefinite_preconditioner : reason::nan_or_infinity);
        return;
      }
      *handed = made->add<T>(k, square, total[1]);
    }
  };
  struct next_z {
    const weights* handed;
    const T *Au, *z;
    T* next;  ///< holds the one before
    WHILST_HD T operator()(index_type i) const {
      return next[i] = static_cast<T>(
                 handed->next(static_cast<double>(Au[i]), static_cast<double>(z[i]), static_cast<double>(next[i])));
    }
  };

  /// Records `steps` of them: z, before, Au and u are vectors to work in; u may be z where there is no M. first_row:
  /// the number of row 0 among those of all ranks.
  template <class Run>
  static void record(Run& run, const Operator& A, const Preconditioner& M, int steps, T* z, T* before, T* Au, T* u,
                     lanczos_matrix* made, weights* handed, index_type first_row = 0) {
    const index_type n = A.rows();
    const bool is_plain = u == nullptr;
    update(run, "z, u = M z", n, preconditioned(M, begin{z, before, first_row}, z, is_plain ? z : u), forget{made});
    for (int k = 0; k < steps; ++k) {
      product(run, "A u, (z,u), (u,Au)", A, is_plain ? z : u, Au, dots{z}, note{made, handed, k});
      if (k + 1 == steps) break;
      update(run, "z, u = M z", n, preconditioned(M, next_z{handed, Au, z, before}, before, is_plain ? before : u));
      std::swap(z, before);
    }
  }
};

}  // namespace whilst
