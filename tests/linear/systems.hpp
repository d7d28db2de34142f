#pragma once

// Small linear systems and oracles for the solver tests.

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/Sparse>

#include "tests/under_racecheck.hpp"
#include "whilst/linear/recorded_solve.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

template <class T>
struct triplets {
  whilst::index_type n;
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<T> values;

  explicit triplets(whilst::index_type n) : n(n) {}
  /// Entries of the next row.
  void row(const std::vector<std::pair<int, double>>& entries) {
    for (const auto& [column, value] : entries) {
      columns.push_back(column);
      values.push_back(static_cast<T>(value));
    }
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  whilst::csr_matrix<T> matrix() const { return {n, n, offsets, columns, values}; }
};

/// Every executor for one system that this machine has.
inline std::vector<std::string> executors() {
  std::vector<std::string> names;
  for (const whilst::executor_availability& e : whilst::describe_machine().executors)
    if (e.available && e.name != "batch" && !(e.name == "graph" && under_racecheck())) names.push_back(e.name);
  return names;
}

/// Those that run a method's steps one by one, as every method allows.
inline std::vector<std::string> executors_with_steps() {
  std::vector<std::string> names = executors();
  std::erase(names, "resident");
  return names;
}

/// The values of a matrix with another diagonal.
template <class T>
std::vector<T> with_diagonal(const whilst::csr_matrix<T>& A, T diagonal) {
  std::vector<T> values(A.values().begin(), A.values().end());
  for (whilst::index_type i = 0; i < A.rows(); ++i)
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      if (A.column_indices()[static_cast<std::size_t>(k)] == i) values[static_cast<std::size_t>(k)] = diagonal;
  return values;
}

template <class T>
std::vector<T> random_vector(whilst::index_type n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& value : v) value = static_cast<T>(uniform(generator));
  return v;
}

template <class T>
Eigen::SparseMatrix<double, Eigen::RowMajor> to_eigen(const whilst::csr_matrix<T>& A) {
  std::vector<Eigen::Triplet<double>> entries;
  for (whilst::index_type i = 0; i < A.rows(); ++i)
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      entries.emplace_back(static_cast<int>(i), A.column_indices()[static_cast<std::size_t>(k)],
                           static_cast<double>(A.values()[static_cast<std::size_t>(k)]));
  Eigen::SparseMatrix<double, Eigen::RowMajor> result(A.rows(), A.columns());
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

template <class T>
Eigen::VectorXd to_eigen(const std::vector<T>& v) {
  Eigen::VectorXd result(static_cast<Eigen::Index>(v.size()));
  for (std::size_t i = 0; i < v.size(); ++i) result[static_cast<Eigen::Index>(i)] = static_cast<double>(v[i]);
  return result;
}

/// ||b - A x|| / ||b|| in double, from the data alone.
template <class T>
double relative_residual(const whilst::csr_matrix<T>& A, const std::vector<T>& b, const std::vector<T>& x) {
  const Eigen::VectorXd be = to_eigen(b);
  return (be - to_eigen(A) * to_eigen(x)).norm() / be.norm();
}

/// Convection and diffusion on a line, upwind: unsymmetric, diagonally dominant.
template <class T>
whilst::csr_matrix<T> convection_diffusion(int n) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    if (i == 0) {
      t.row({{0, 3}, {1, -1}});
    } else if (i == n - 1) {
      t.row({{n - 2, -2}, {n - 1, 3}});
    } else {
      t.row({{i - 1, -2}, {i, 3}, {i + 1, -1}});
    }
  }
  return t.matrix();
}

/// What a matrix is, for methods_on.
enum class matrix_kind { definite, indefinite, unsymmetric };

/// The names of all methods for such matrices that an executor runs; "batch" counts as one. Without those that take
/// many more iterations than the others, and have tests of their own: for any shape, and stationary ones.
inline std::vector<std::string> methods_on(const std::string& executor, matrix_kind kind = matrix_kind::definite) {
  std::vector<std::string> names;
  for (const auto& method : whilst::linear_methods<double>()) {
    const bool in_kernel = executor == "resident" || executor == "batch";
    const bool is_stationary = method.name == std::string("chebyshev") || method.name == std::string("richardson");
    const bool fits = method.needs.transpose || is_stationary ? false
                      : kind == matrix_kind::definite         ? true
                      : kind == matrix_kind::indefinite       ? !method.needs.definite
                                                              : !method.needs.symmetric;
    if (fits && (method.in_kernel.runs || !in_kernel)) names.emplace_back(method.name);
  }
  return names;
}

/// Runs solver.solve(b, x) in a thread of its own and cancels it, with solver.cancel(), once it is seen running.
template <class Solver, class T>
whilst::report solve_and_cancel(Solver& solver, const std::vector<T>& b, std::vector<T>& x) {
  whilst::report result;
  std::atomic<bool> ended = false;
  std::thread solving([&] {
    try {
      result = solver.solve(b, x);
    } catch (const whilst::error& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    ended = true;
  });
  while (!solver.progress().running && !ended) std::this_thread::yield();
  solver.cancel();
  solving.join();
  return result;
}

}  // namespace whilst_test
