#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// What a vector of Lanczos steps is made of; zeros where none is left.
struct lanczos_weights {
  double of_Au, of_z, of_before;
  WHILST_HD double next(double Au, double z, double before) const { return of_Au * Au + of_z * z + of_before * before; }
};

/// The symmetric tridiagonal matrix of some Lanczos steps: alpha on the diagonal, beta[k] beside it in row k, from 1
/// on. C. Lanczos, J. Res. Nat. Bur. Standards 45 (1950), in the form of C. C. Paige, J. Inst. Math. Appl. 10 (1972),
/// preconditioned as in solvers/linear/methods/minres.cpp: with u = M z, beta^2 = (z, u) and alpha = (u, A u) / beta^2,
///
///   z_next = (A u - alpha z) / beta - (beta / beta_before) z_before
struct lanczos_matrix {
  static constexpr int most_steps = 64;
  double alpha[most_steps], beta[most_steps];
  int steps;

  /// Adds step k, of (z, u) and (u, A u), unless the steps before found nothing. T: the numbers of the vectors.
  template <class T>
  WHILST_HD lanczos_weights add(int k, double zu, double uAu) {
    const double of_diagonal = uAu / zu, beside = sqrt(fabs(zu)), inverse = 1 / beside;
    if (steps < k || !is_finite(of_diagonal) || !is_finite(static_cast<T>(inverse))) return {};
    alpha[k] = of_diagonal;
    beta[k] = beside;
    steps = k + 1;
    return {inverse, -of_diagonal / beside, k == 0 ? 0 : -beside / beta[k - 1]};
  }
  /// How many eigenvalues of the matrix are below a value: the negative pivots of its elimination. W. Barth, R. S.
  /// Martin, J. H. Wilkinson, Numer. Math. 9 (1967).
  WHILST_HD int eigenvalues_below(double value) const {
    int count = 0;
    double pivot = 1;
    for (int k = 0; k < steps; ++k) {
      const double beside = k == 0 ? 0 : beta[k] * beta[k];
      pivot = alpha[k] - value - beside / pivot;
      if (pivot == 0) pivot = 1e-300;
      count += pivot < 0;
    }
    return count;
  }
  /// The eigenvalue that has `rank` below it, by bisection between Gershgorin's bounds.
  WHILST_HD double eigenvalue(int rank) const {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int k = 0; k < steps; ++k) {
      const double beside = (k == 0 ? 0 : fabs(beta[k])) + (k + 1 < steps ? fabs(beta[k + 1]) : 0);
      low = fmin(low, alpha[k] - beside);
      high = fmax(high, alpha[k] + beside);
    }
    constexpr int digits = 60;
    WHILST_ROLLED
    for (int halved = 0; halved < digits; ++halved) {
      const double middle = low + (high - low) / 2;
      (eigenvalues_below(middle) > rank ? high : low) = middle;
    }
    return rank == 0 ? low : high;
  }
};

}  // namespace whilst
