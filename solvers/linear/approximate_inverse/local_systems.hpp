#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/approximate_inverse/rows_in_order.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/dense/small_cholesky.hpp"

namespace whilst::approximate_inverse {

/// The rows of approximate inverses, each from a small system of its own, in double. most: what a row has at most.

/// A pivot that is not larger than this much of its diagonal entry is lost to rounding: 64 epsilons.
inline constexpr double least_pivot = 0x1p-46;

/// A = L L' of m unknowns, packed, L with reciprocals on its diagonal. An unknown whose pivot is lost, negative or NaN
/// is left out: its reciprocal and its column are 0, and so will be its part of solutions.
WHILST_HD inline void factor_leaving_out(double* A, int m) {
  for (int j = 0; j < m; ++j) {
    const double before = A[packed_index(j, j)];
    double pivot = before;
    for (int k = 0; k < j; ++k) pivot -= A[packed_index(j, k)] * A[packed_index(j, k)];
    const bool stays = before > 0 && pivot > least_pivot * before && is_finite(pivot);
    const double reciprocal = stays ? 1 / sqrt(pivot) : 0;
    A[packed_index(j, j)] = reciprocal;
    for (int i = j + 1; i < m; ++i) {
      double sum = A[packed_index(i, j)];
      for (int k = 0; k < j; ++k) sum -= A[packed_index(i, k)] * A[packed_index(j, k)];
      A[packed_index(i, j)] = stays ? sum * reciprocal : 0;
    }
  }
}
/// x = L^-1 x
WHILST_HD inline void solve_lower(const double* L, int m, double* x) {
  for (int i = 0; i < m; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= L[packed_index(i, k)] * x[k];
    x[i] *= L[packed_index(i, i)];
  }
}
/// x = L'^-1 x
WHILST_HD inline void solve_upper(const double* L, int m, double* x) {
  for (int i = m - 1; i >= 0; --i) {
    for (int k = i + 1; k < m; ++k) x[i] -= L[packed_index(k, i)] * x[k];
    x[i] *= L[packed_index(i, i)];
  }
}

/// Rows of a solution in the numbers that they are stored in; `otherwise` on the diagonal alone if one of them is not
/// finite, or if the diagonal's must not be 0 and is.
template <class C>
WHILST_HD void put_row(const double* x, int m, int diagonal, bool needs_diagonal, double otherwise, C* values) {
  bool fits = !needs_diagonal || static_cast<C>(x[diagonal]) > 0;
  for (int k = 0; k < m; ++k) fits = fits && is_finite(static_cast<C>(x[k]));
  const bool other_fits = is_finite(static_cast<C>(otherwise)) && static_cast<C>(otherwise) != 0;
  for (int k = 0; k < m; ++k)
    values[k] = fits ? static_cast<C>(x[k]) : k != diagonal ? C(0) : other_fits ? static_cast<C>(otherwise) : C(1);
}

/// Row i of the factor G of a factorized approximate inverse G'G of a symmetric A. On the row's columns J, i last,
/// G_i = g / sqrt(g_i) for A(J, J) g = e_i; with A(J, J) = L L' that is the last row of L^-1. The G on its pattern that
/// is nearest to the inverse of A's Cholesky factor, scaled so that G A G' has a diagonal of ones: L. Yu. Kolotilina,
/// A. Yu. Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993) 45-58, section 2. Where A(J, J) is not positive definite, what
/// is in the way is left out of J; a row of which nothing is left becomes 1 / sqrt(|a_ii|), or 1.
template <class T, class C, int most>
struct factor_rows {
  ordered_matrix<T> A;
  multigrid::pattern_view G;
  C* values;

  WHILST_HD void operator()(index_type i) const {
    double L[packed_size(most)], x[most] = {};
    const std::int32_t begin = G.offsets[i], *const J = G.indices + begin;
    const int m = G.offsets[i + 1] - begin, last = m - 1;
    int own = 0;  // where J has i
    while (J[own] != i) ++own;
    const auto place = [&](int p) { return p < own ? p : p < last ? p + 1 : own; };
    for (int p = 0; p < m; ++p)
      for (int q = 0; q <= p; ++q) L[packed_index(p, q)] = A.entry(J[place(p)], J[place(q)]);
    factor_leaving_out(L, m);
    x[last] = 1;
    solve_upper(L, m, x);
    const double of_own = x[last];
    for (int p = last; p > own; --p) x[p] = x[p - 1];
    x[own] = of_own;
    put_row(x, m, own, true, 1 / sqrt(fabs(A.entry(i, J[own]))), values + begin);
  }
};

/// Row i of the M on its pattern for which M A is nearest to the identity, in the Frobenius norm: m_i(J) minimizes
/// ||m A(J, :) - e_i'||. By the normal equations: M. J. Grote, T. Huckle, SIAM J. Sci. Comput. 18 (1997) 838-853,
/// section 2, whose columns are those of the inverse from the right. Of rows of A that depend on each other, only the
/// first ones count. A row of M without entries has 1 / a_ii, or 1, on its diagonal.
template <class T, class C, int most>
struct inverse_rows {
  ordered_matrix<T> A;
  multigrid::pattern_view M;
  C* values;

  WHILST_HD void operator()(index_type i) const {
    double L[packed_size(most)], x[most];
    const std::int32_t begin = M.offsets[i], *const J = M.indices + begin;
    const int m = M.offsets[i + 1] - begin;
    int diagonal = 0;
    double size = 0;
    for (int p = 0; p < m; ++p) {
      for (int q = 0; q <= p; ++q) L[packed_index(p, q)] = A.product_of_rows(J[p], J[q]);
      x[p] = A.entry(J[p], static_cast<std::int32_t>(i));
      if (J[p] == i) diagonal = p;
    }
    const double otherwise = 1 / A.entry(i, static_cast<std::int32_t>(i));
    factor_leaving_out(L, m);
    solve_lower(L, m, x);
    solve_upper(L, m, x);
    for (int p = 0; p < m; ++p) size += fabs(x[p]);
    if (!(size > 0)) x[diagonal] = otherwise;
    put_row(x, m, diagonal, false, otherwise, values + begin);
  }
};

}  // namespace whilst::approximate_inverse
