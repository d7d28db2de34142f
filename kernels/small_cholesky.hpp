#pragma once

#include <cmath>

#include "whilst/host_device.hpp"

namespace whilst {

/// Symmetric n x n matrices for one thread, n small: the lower triangle packed by rows, entry (i, j) at
/// packed_index(i, j), i >= j.
WHILST_HD constexpr int packed_index(int i, int j) { return i * (i + 1) / 2 + j; }
WHILST_HD constexpr int packed_size(int n) { return n * (n + 1) / 2; }

/// A = L L', L in the place of A. False, with A spoilt, where A is not positive definite to working precision: a pivot
/// is not above `least_pivot` times the diagonal entry that it started from. G. H. Golub and C. F. Van Loan, Matrix
/// Computations, 4th ed. (2013), algorithm 4.2.1.
template <int n>
WHILST_HD bool factor_cholesky(double* A, double least_pivot) {
  for (int j = 0; j < n; ++j) {
    const double before = A[packed_index(j, j)];
    double pivot = before;
    for (int k = 0; k < j; ++k) pivot -= A[packed_index(j, k)] * A[packed_index(j, k)];
    if (!(pivot > least_pivot * before)) return false;
    const double root = sqrt(pivot);
    A[packed_index(j, j)] = root;
    for (int i = j + 1; i < n; ++i) {
      double sum = A[packed_index(i, j)];
      for (int k = 0; k < j; ++k) sum -= A[packed_index(i, k)] * A[packed_index(j, k)];
      A[packed_index(i, j)] = sum / root;
    }
  }
  return true;
}

/// x = A^-1 x from the factor L of A.
template <int n>
WHILST_HD void solve_cholesky(const double* L, double* x) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= L[packed_index(i, k)] * x[k];
    x[i] /= L[packed_index(i, i)];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) x[i] -= L[packed_index(k, i)] * x[k];
    x[i] /= L[packed_index(i, i)];
  }
}

}  // namespace whilst
