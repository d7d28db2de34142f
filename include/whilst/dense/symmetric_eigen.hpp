#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"

namespace whilst {

/// Index of entry (i, j), i <= j, in the upper triangle of an n x n matrix, packed row by row.
WHILST_HD constexpr int upper_packed(int n, int i, int j) { return i * (2 * n - i - 1) / 2 + j; }

/// The eigenvalues and eigenvectors of a small symmetric matrix by cyclic Jacobi rotations: G. H. Golub, C. F. Van
/// Loan, Matrix Computations, 4th ed., algorithm 8.5.3. On return the diagonal of A holds the eigenvalues and column k
/// of V the k-th eigenvector. A is stored in full, row by row. Each sweep squares the off-diagonal part; eight are more
/// than double precision needs.
template <int n, class T>
WHILST_HD void diagonalize(T (&A)[n][n], T (&V)[n][n]) {
  constexpr int sweeps = 8;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) V[i][j] = i == j;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    T off = 0, on = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) (i == j ? on : off) += std::fabs(A[i][j]);  // squares would overflow or underflow
    constexpr T epsilon = sizeof(T) == 4 ? T(1.2e-7) : T(2.2e-16);
    if (!(off > epsilon * on)) return;  // true for NaN, too
    for (int p = 0; p < n - 1; ++p) {
      for (int q = p + 1; q < n; ++q) {
        const T apq = A[p][q];
        if (apq == 0) continue;
        const T tau = (A[q][q] - A[p][p]) / (2 * apq);
        const T t = (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
        const T c = 1 / std::sqrt(1 + t * t), s = t * c;
        for (int k = 0; k < n; ++k) {
          const T x = A[k][p], y = A[k][q];
          A[k][p] = c * x - s * y;
          A[k][q] = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const T x = A[p][k], y = A[q][k];
          A[p][k] = c * x - s * y;
          A[q][k] = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const T x = V[k][p], y = V[k][q];
          V[k][p] = c * x - s * y;
          V[k][q] = s * x + c * y;
        }
      }
    }
  }
}

/// Replaces a symmetric matrix, its upper triangle packed row by row, by the nearest positive semi-definite one (in the
/// Frobenius norm): negative eigenvalues become 0. A matrix with non-finite entries stays unchanged.
template <int n, class T>
WHILST_HD void make_positive(T* packed) {
  T A[n][n], V[n][n];
  bool is_finite = true;
  for (int i = 0; i < n; ++i) {
    for (int j = i; j < n; ++j) {
      const T entry = A[i][j] = A[j][i] = packed[upper_packed(n, i, j)];
      is_finite = is_finite && entry - entry == 0;
    }
  }
  if (!is_finite) return;
  diagonalize<n>(A, V);
  bool is_positive = true;
  for (int k = 0; k < n; ++k) is_positive = is_positive && A[k][k] >= 0;
  if (is_positive) return;
  for (int i = 0; i < n; ++i) {
    for (int j = i; j < n; ++j) {
      T sum = 0;
      for (int k = 0; k < n; ++k) sum += A[k][k] > 0 ? A[k][k] * V[i][k] * V[j][k] : T(0);
      packed[upper_packed(n, i, j)] = sum;
    }
  }
}

}  // namespace whilst
