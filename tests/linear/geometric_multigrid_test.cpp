// Preconditioner multigrid: how fast, on which grids, with new values, and what is refused.

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/grid_matrices.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

template <class T>
struct solved_on_grid {
  std::vector<T> x;
  report told;
};
template <class T>
solved_on_grid<T> solve_on_grid(linear_solver<T>& solver, const std::vector<T>& b) {
  std::vector<T> x(b.size(), T(0));
  const report told = solver.solve(b, x);
  return {std::move(x), told};
}
template <class T>
solved_on_grid<T> solve_on_grid(const csr_matrix<T>& A, const linear_solver_options& options, const std::vector<T>& b) {
  linear_solver<T> solver(A, options);
  return solve_on_grid(solver, b);
}
std::string words(const extents& points) {
  return std::to_string(points[0]) + " x " + std::to_string(points[1]) + " x " + std::to_string(points[2]);
}

}  // namespace

TEST_CASE("explore multigrid", "[.explore]") {
  const auto run = [](const extents& points, std::array<double, 3> axis, double shift, const std::string& M,
                      const std::string& rhs = "random") {
    const csr_matrix<double> A = grid_matrix<double>(points, axis, shift);
    std::vector<double> b = random_vector<double>(A.rows(), 5);
    if (rhs == "ones")
      for (double& v : b) v = 1;
    const auto made = solve_on_grid(A, {.preconditioner = M, .executor = "host"}, b);
    std::printf("%s (%g %g %g %g) %s: %d iterations, %.2g s, residual %.2g, %s\n", words(points).c_str(), axis[0],
                axis[1], axis[2], shift, M.c_str(), (int)made.told.iterations(), made.told.solve_seconds(),
                true_residual(A, b, made.x), made.told.preconditioner_choice().c_str());
  };
  for (const std::string& M :
       {"multigrid,coarsest_rows=8", "multigrid,coarsest_rows=8,sweeps=2", "multigrid,coarsest_rows=8,cycle=W"}) {
    for (int n : {7, 8, 15, 16, 33, 100, 255}) run({n, n, 1}, {1, 1, 0}, 0, M);
    for (int n : {7, 8, 15, 16, 33, 64, 100}) run({n, n, n}, {1, 1, 1}, 0, M);
    run({100, 37, 1}, {1, 1, 0}, 0, M);
    run({255, 16, 1}, {1, 1, 0}, 0, M);
    run({64, 16, 9}, {1, 1, 1}, 0, M);
    run({10, 30, 50}, {1, 1, 1}, 0, M);
    run({200, 200, 1}, {1, 0.01, 0}, 0, M);
    run({200, 200, 1}, {0.001, 1, 0}, 0, M);
    run({200, 200, 1}, {0.3, 1, 0}, 0, M);
    run({200, 200, 1}, {0.5, 1, 0}, 0, M);
    run({40, 40, 40}, {1, 0.1, 0.01}, 0, M);
    run({40, 40, 40}, {0.4, 1, 0.4}, 0, M);
    run({40, 40, 40}, {1, 1, 1}, 0.1, M);
    run({40, 40, 40}, {1, 1, 1}, 6, M);
    run({1000, 1, 1}, {1, 0, 0}, 0, M);
  }
  run({100, 100, 100}, {1, 1, 1}, 0, "amg");
  run({100, 100, 100}, {1, 1, 1}, 0, "multigrid", "ones");
  run({100, 100, 100}, {1, 1, 1}, 0, "amg", "ones");
}

}  // namespace whilst_test
