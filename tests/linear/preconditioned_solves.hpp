#pragma once

// What solves with any preconditioner that is made from the matrix have in common.

#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

/// Two solvers that run at once have the bits of one alone.
inline void check_two_solvers_at_once(const whilst::csr_matrix<double>& A, const std::string& preconditioner) {
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    const whilst::linear_solver_options options{.preconditioner = preconditioner, .executor = executor};
    std::vector<double> alone(b.size(), 0), one(b.size(), 0), other(b.size(), 0);
    whilst::linear_solver<double>(A, options).solve(b, alone);
    whilst::linear_solver<double> of_one(A, options), of_other(A, options);
    std::thread beside([&] { of_one.solve(b, one); });
    of_other.solve(b, other);
    beside.join();
    CHECK(one == alone);
    CHECK(other == alone);
  }
}

using rows_of_matrix = std::vector<std::vector<std::pair<int, double>>>;

/// Why a solve for ones ends; if it says that it has converged, it has.
inline whilst::reason ending_of(const rows_of_matrix& rows, const std::string& preconditioner,
                                const std::string& method, const std::string& executor) {
  triplets<double> t(static_cast<whilst::index_type>(rows.size()));
  for (const auto& row : rows) t.row(row);
  const std::vector<double> b(rows.size(), 1);
  std::vector<double> x(b.size(), 0);
  whilst::linear_solver<double> solver(
      t.matrix(), {.method = method, .preconditioner = preconditioner, .max_iterations = 50, .executor = executor});
  const whilst::report told = solver.solve(b, x);
  INFO(method << ", " << executor << ": " << name(told.reason()));
  CHECK(told.reason() != whilst::reason::running);
  if (told.converged() && !rows.empty()) CHECK(true_residual(t.matrix(), b, x) <= 1.01e-8);
  return told.reason();
}

/// An arrow whose head is a dense row.
inline rows_of_matrix arrow_of(int n) {
  rows_of_matrix arrow(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    arrow[0].emplace_back(i, i == 0 ? n : 1);
    if (i > 0) arrow[static_cast<std::size_t>(i)] = {{0, 1}, {i, 2}};
  }
  return arrow;
}

/// No rows, one of a negative number, NaN, a row of zeros, singular and negative definite blocks, an arrow of so many
/// rows, an indefinite block; and those others, which may end in any way but a wrong one.
inline void check_hostile_matrices(const std::string& preconditioner, int rows_of_arrow,
                                   const std::vector<rows_of_matrix>& others = {}) {
  using whilst::reason;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& executor : executors_with_steps())
    for (const std::string method : {"cg", "minres", "gmres", "bicgstab"}) {
      INFO(method << ", " << executor);
      const auto ends = [&](const rows_of_matrix& rows) { return ending_of(rows, preconditioner, method, executor); };
      CHECK(ends({}) != reason::running);
      CHECK(converged(ends({{{0, -3}}})));
      CHECK(ends({{{0, nan}, {1, 1}}, {{0, 1}, {1, 2}}}) == reason::nan_or_infinity);
      CHECK(!converged(ends({{{0, 1}}, {}, {{2, 1}}})));
      CHECK(!converged(ends({{{0, 1}, {1, 1}}, {{0, 1}, {1, 1}}, {}})));
      CHECK(converged(ends({{{0, -2}, {1, 1}}, {{0, 1}, {1, -2}}})));
      CHECK(converged(ends(arrow_of(rows_of_arrow))));
      ends({{{0, 1}, {1, 4}}, {{0, 4}, {1, 1}}, {{2, 1}}});
      for (const rows_of_matrix& rows : others) ends(rows);
    }
}

}  // namespace whilst_test
