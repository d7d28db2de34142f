#pragma once

// Matrices that a permutation helps, and solves with one.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/linear/systems.hpp"

namespace whilst_test {

/// Six entries in most rows, none on the diagonal, of sizes up to 10^decades; large ones three columns on.
template <class T>
whilst::csr_matrix<T> with_empty_diagonal(int n, int decades = 4, unsigned seed = 5) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    const double size = std::pow(10.0, i % (decades + 1));
    std::vector<std::pair<int, double>> row{{(i + 3) % n, 6 * size}};
    for (int k = 0; k < 5; ++k)
      if (const int j = static_cast<int>(generator() % static_cast<unsigned>(n)); j != i)
        row.emplace_back(j, value(generator) * size);
    t.row(row);
  }
  return t.matrix();
}

/// Rows and columns of a matrix in an order that mixes them up.
template <class T>
whilst::csr_matrix<T> shuffled(const whilst::csr_matrix<T>& A) {
  std::vector<int> place(static_cast<std::size_t>(A.rows()));
  std::iota(place.begin(), place.end(), 0);
  std::mt19937 generator(11);
  for (std::size_t k = place.size(); k > 1; --k) std::swap(place[k - 1], place[generator() % k]);
  const Eigen::Map<Eigen::VectorXi> indices(place.data(), static_cast<Eigen::Index>(place.size()));
  const Eigen::PermutationMatrix<Eigen::Dynamic> P(indices);
  const Eigen::SparseMatrix<double, Eigen::RowMajor> B = P * to_eigen(A) * P.transpose();
  triplets<T> t(A.rows());
  for (Eigen::Index i = 0; i < B.rows(); ++i) {
    std::vector<std::pair<int, double>> row;
    for (Eigen::SparseMatrix<double, Eigen::RowMajor>::InnerIterator e(B, i); e; ++e)
      row.emplace_back(static_cast<int>(e.col()), e.value());
    t.row(row);
  }
  return t.matrix();
}

template <class T>
whilst::csr_matrix<T> same_pattern(const whilst::csr_matrix<T>& A, const std::vector<T>& values) {
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values};
}
/// Every value times 1 to 1.75, in turn.
template <class T>
std::vector<T> other_values(const whilst::csr_matrix<T>& A) {
  std::vector<T> values(A.values().begin(), A.values().end());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] *= static_cast<T>(1 + 0.25 * static_cast<double>(k % 4));
  return values;
}

template <class T>
std::vector<T> times_one(const whilst::csr_matrix<T>& A) {
  const Eigen::VectorXd b = to_eigen(A) * Eigen::VectorXd::Ones(A.rows());
  std::vector<T> result(static_cast<std::size_t>(A.rows()));
  std::transform(b.begin(), b.end(), result.begin(), [](double value) { return static_cast<T>(value); });
  return result;
}

struct outcome_of {
  std::vector<double> x;
  whilst::report told;
};
inline outcome_of solved(const whilst::csr_matrix<double>& A, const std::vector<double>& b,
                         const whilst::linear_solver_options& options) {
  outcome_of made{std::vector<double>(b.size(), 0.0), {}};
  made.told = whilst::linear_solver<double>(A, options).solve(b, made.x);
  return made;
}
inline whilst::linear_solver_options permuted_by(const std::string& permutation, const std::string& method,
                                                 const std::string& preconditioner,
                                                 const std::string& executor = "host") {
  whilst::linear_solver_options options{.method = method, .preconditioner = preconditioner, .executor = executor};
  options.permutation = permutation;
  return options;
}

inline std::string refused(const whilst::csr_matrix<double>& A, const whilst::linear_solver_options& options) {
  try {
    whilst::linear_solver<double> solver(A, options);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace whilst_test
