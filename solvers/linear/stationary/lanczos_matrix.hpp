#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"

namespace whilst {

/// The symmetric tridiagonal matrix of some Lanczos steps: alpha on the diagonal, beta[k] beside it in row k, from 1
/// on.
struct lanczos_matrix {
  static constexpr int most_steps = 64;
  double alpha[most_steps], beta[most_steps];
  int steps;

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
