#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"

namespace whilst {

/// Small n x n matrices for one thread. The lower triangle is packed by rows, entry (i, j) at packed_index(i, j), i >=
/// j.
WHILST_HD constexpr int packed_index(int i, int j) { return i * (i + 1) / 2 + j; }
WHILST_HD constexpr int packed_size(int n) { return n * (n + 1) / 2; }

/// A = L L'. L overwrites A, with reciprocals on its diagonal, as solving needs. False, with A destroyed, if A is not
/// positive definite to working precision: some pivot does not exceed `least_pivot` times its original diagonal entry.
/// G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed. (2013), algorithm 4.2.1.
template <int n>
WHILST_HD bool factor_cholesky(double* A, double least_pivot) {
  for (int j = 0; j < n; ++j) {
    const double before = A[packed_index(j, j)];
    double pivot = before;
    for (int k = 0; k < j; ++k) pivot -= A[packed_index(j, k)] * A[packed_index(j, k)];
    if (!(pivot > least_pivot * before)) return false;
    const double reciprocal = 1 / sqrt(pivot);
    A[packed_index(j, j)] = reciprocal;
    for (int i = j + 1; i < n; ++i) {
      double sum = A[packed_index(i, j)];
      for (int k = 0; k < j; ++k) sum -= A[packed_index(i, k)] * A[packed_index(j, k)];
      A[packed_index(i, j)] = sum * reciprocal;
    }
  }
  return true;
}

/// x = A^-1 x from the factor L of A.
template <int n>
WHILST_HD void solve_cholesky(const double* L, double* x) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= L[packed_index(i, k)] * x[k];
    x[i] *= L[packed_index(i, i)];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) x[i] -= L[packed_index(k, i)] * x[k];
    x[i] *= L[packed_index(i, i)];
  }
}

/// Rows of a least-squares problem |A h + b|, folded one by one into an upper triangle by Givens rotations: Golub and
/// Van Loan, section 5.1.8. Keeps A's precision, whatever its scale.
template <int n>
struct folded_rows {
  double R[packed_size(n)] = {};  ///< entry (k, j) at packed_index(j, k), j >= k; the diagonal itself
  double right[n] = {};

  WHILST_NOINLINE WHILST_HD void add(double (&row)[n], double value) {
    WHILST_ROLLED
    for (int k = 0; k < n; ++k) {
      if (row[k] == 0) continue;
      double& pivot = R[packed_index(k, k)];
      const double length = hypot(pivot, row[k]), cosine = pivot / length, sine = row[k] / length;
      pivot = length;
      WHILST_ROLLED
      for (int j = k + 1; j < n; ++j) rotate(R[packed_index(j, k)], row[j], cosine, sine);
      rotate(right[k], value, cosine, sine);
    }
  }
  /// The minimizing h. The triangle's diagonal must have no 0.
  WHILST_HD void solve(double (&h)[n]) const {
    for (int k = n - 1; k >= 0; --k) {
      h[k] = -right[k];
      for (int j = k + 1; j < n; ++j) h[k] -= R[packed_index(j, k)] * h[j];
      h[k] /= R[packed_index(k, k)];
    }
  }

 private:
  WHILST_HD static void rotate(double& above, double& below, double cosine, double sine) {
    const double turned = cosine * above + sine * below;
    below = cosine * below - sine * above;
    above = turned;
  }
};

}  // namespace whilst
