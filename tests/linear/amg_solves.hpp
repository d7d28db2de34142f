#pragma once

// Solves from zero, for the tests of preconditioner amg.

#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

template <class T>
struct solution {
  whilst::report told;
  std::vector<T> x;
};
template <class T>
solution<T> solved_by(whilst::linear_solver<T>& solver, const std::vector<T>& b) {
  solution<T> made{{}, std::vector<T>(b.size(), T(0))};
  made.told = solver.solve(b, made.x);
  return made;
}
/// Of a solve that must converge; its residual is computed anew.
template <class T>
whilst::index_type iterations_of(const whilst::csr_matrix<T>& A, const whilst::linear_solver_options& options,
                                 const std::vector<T>& b) {
  whilst::linear_solver<T> solver(A, options);
  const solution<T> made = solved_by(solver, b);
  CAPTURE(made.told.message());
  CHECK(made.told.converged());
  CHECK(true_residual(A, b, made.x) <= 1.01 * options.rtol);
  return made.told.iterations();
}
template <class T>
whilst::index_type iterations_of(const whilst::csr_matrix<T>& A, const whilst::linear_solver_options& options) {
  return iterations_of(A, options, random_vector<T>(A.rows(), 4));
}

}  // namespace whilst_test
