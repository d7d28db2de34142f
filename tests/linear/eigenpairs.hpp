#pragma once

// Solves for eigenpairs, checks of all that a report says of them, and matrices whose eigenvalues are known.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/eigenvalue_solver.hpp"

namespace whilst_test {

template <class T>
inline constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// A tolerance that T reaches: a residual is rounded by a few epsilon of ||A||, more with longer rows.
template <class T>
inline constexpr double reachable = 100 * epsilon<T>;

/// Vectors are combinations of 3 m columns, rounded once an entry, and made orthonormal by sums in double.
template <class T>
inline constexpr double orthonormal = 100 * epsilon<T>;

/// A pair whose residual is at most rtol ||A|| has an eigenvalue within rtol ||A||; and for an eigenvalue apart from
/// the others within the square of it over the distance. The rest is rounding of x'A x.
template <class T>
inline constexpr double value_rounding = 100 * epsilon<T>;

template <class T>
std::vector<std::vector<T>> columns_of(const std::vector<T>& X, whilst::index_type n) {
  std::vector<std::vector<T>> columns;
  for (std::size_t at = 0; at < X.size(); at += static_cast<std::size_t>(n))
    columns.emplace_back(X.begin() + static_cast<std::ptrdiff_t>(at), X.begin() + static_cast<std::ptrdiff_t>(at) + n);
  return columns;
}

/// ||A x - lambda x||, in long double.
template <class T>
double true_residual(const whilst::csr_matrix<T>& A, const std::vector<T>& x, double lambda) {
  long double squares = 0;
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    long double r = -static_cast<long double>(lambda) * x[static_cast<std::size_t>(i)];
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      r += static_cast<long double>(A.values()[static_cast<std::size_t>(k)]) *
           x[static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)])];
    squares += r * r;
  }
  return static_cast<double>(std::sqrt(squares));
}

template <class T>
double norm_by_rows(const whilst::csr_matrix<T>& A) {
  double most = 0;
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      sum += std::abs(static_cast<double>(A.values()[static_cast<std::size_t>(k)]));
    most = std::max(most, sum);
  }
  return most;
}

/// Checks everything that a report says of vectors.
template <class T>
void check_pairs(const whilst::csr_matrix<T>& A, const std::vector<T>& X, const whilst::eigenvalue_report& told,
                 double rtol) {
  const auto columns = columns_of(X, A.rows());
  const double norm = norm_by_rows(A);
  CHECK(told.converged());
  CHECK(told.reason() == whilst::reason::converged_rtol);
  CHECK(told.rhs_norm() == Approx(norm).epsilon(value_rounding<double>));
  REQUIRE(told.eigenvalues.size() == columns.size());
  REQUIRE(told.residual_norms.size() == columns.size());
  double largest = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double residual = true_residual(A, columns[c], told.eigenvalues[c]);
    CHECK(residual <= (1.01 * rtol + reachable<T>)*norm);
    CHECK(std::abs(residual - told.residual_norms[c]) <= reachable<T> * norm);
    largest = std::max(largest, told.residual_norms[c]);
    for (std::size_t d = 0; d <= c; ++d) {
      long double dot = 0;
      for (std::size_t i = 0; i < columns[c].size(); ++i)
        dot += static_cast<long double>(columns[c][i]) * columns[d][i];
      CHECK(std::abs(static_cast<double>(dot) - (c == d ? 1 : 0)) <= orthonormal<T>);
    }
  }
  CHECK(told.residual_norm() == largest);
}

/// Rows of -1, 2, -1: the k-th eigenvalue, from 1, is 2 - 2 cos(k pi / (n + 1)).
template <class T>
whilst::csr_matrix<T> line(int n, double factor = 1) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    if (n == 1) {
      t.row({{0, 2 * factor}});
    } else if (i == 0) {
      t.row({{0, 2 * factor}, {1, -factor}});
    } else if (i == n - 1) {
      t.row({{n - 2, -factor}, {n - 1, 2 * factor}});
    } else {
      t.row({{i - 1, -factor}, {i, 2 * factor}, {i + 1, -factor}});
    }
  }
  return t.matrix();
}
inline std::vector<double> values_of_line(int n) {
  std::vector<double> values;
  for (int k = 1; k <= n; ++k) {
    const double half = std::sin(k * std::numbers::pi / (2 * (n + 1)));
    values.push_back(4 * half * half);
  }
  return values;
}
/// Of the 5-point Laplacian on nx x nx points: the sums of two of these; many are double.
inline std::vector<double> values_of_square(int nx) {
  const std::vector<double> of_line = values_of_line(nx);
  std::vector<double> values;
  for (const double one : of_line)
    for (const double other : of_line) values.push_back(one + other);
  std::sort(values.begin(), values.end());
  return values;
}

template <class T>
whilst::eigenvalue_report solve(const whilst::csr_matrix<T>& A, std::vector<T>& X, whilst::eigenvalue_options options) {
  X.resize(static_cast<std::size_t>(A.rows() * options.count), T(0));
  return whilst::eigenvalue_solver<T>(A, options).solve(X);
}

/// Those wanted of all eigenvalues in ascending order.
inline std::vector<double> wanted(std::vector<double> all, const whilst::eigenvalue_options& options) {
  if (options.which == "largest") std::reverse(all.begin(), all.end());
  all.resize(static_cast<std::size_t>(options.count));
  return all;
}

template <class T>
void check_values(const whilst::eigenvalue_report& told, const std::vector<double>& exact, double tolerance) {
  REQUIRE(told.eigenvalues.size() == exact.size());
  for (std::size_t c = 0; c < exact.size(); ++c)
    CHECK(std::abs(told.eigenvalues[c] - exact[c]) <= (tolerance + value_rounding<T>)*told.rhs_norm());
}

}  // namespace whilst_test
