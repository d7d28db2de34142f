// compiled by nvcc where CUDA is on
// Preconditioner multigrid for operators without a matrix.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "whilst/linear/preconditioners/multigrid.hpp"

#include "tests/catch.hpp"
#include "tests/linear/grid_matrices.hpp"
#include "tests/linear/true_residual.hpp"
#include "whilst/template_door.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::place;
using whilst::report;

namespace {

place place_for(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }

template <class T, class Operator>
void check_operator(const Operator& A, const extents& points, const std::array<double, 3>& axis) {
  const double asked = sizeof(T) == 4 ? 1e-4 : 1e-8;
  const csr_matrix<T> matrix = grid_matrix<T>(points, axis);
  const std::vector<T> b = random_vector<T>(A.rows(), 5);
  const whilst::multigrid_options settings{.coarsest_rows = 8};
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor << ", " << A.rows());
    const whilst::linear_solver_options options{.rtol = asked, .executor = executor};
    const auto M = whilst::make_multigrid<T>(place_for(executor), A, settings);
    auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, T>(
        A, whilst::composed_preconditioner<T>{M.get()}, options);
    std::vector<T> x(b.size(), 0), again(b.size(), 0), by_matrix(b.size(), 0);
    const report told = solver.solve(b, x);
    CHECK(told.converged());
    CHECK(told.iterations() <= 10);
    CHECK(true_residual(matrix, b, x) <= 1.01 * asked);
    solver.solve(b, again);
    CHECK((x == again));
    // The same to a solver of the matrix, as a preconditioner of one's own.
    whilst::linear_solver<T> other(
        matrix, std::shared_ptr<whilst::preconditioner<T>>(whilst::make_multigrid<T>(place_for(executor), A, settings)),
        options);
    const report by_other = other.solve(b, by_matrix);
    CHECK(by_other.converged());
    CHECK(by_other.iterations() == told.iterations());
  }
}

}  // namespace

TEMPLATE_TEST_CASE("multigrid for the matrix-free Laplacians", "[linear][multigrid][sanitizer]", float, double) {
  using T = TestType;
  check_operator<T>(whilst::poisson_2d_operator<T>{31, 20}, {31, 20, 1}, {1, 1, 0});
  check_operator<T>(whilst::poisson_3d_operator<T>{7, 12, 9}, {7, 12, 9}, {1, 1, 1});
}

TEST_CASE("multigrid for axes of one point, whose links go to the boundary", "[linear][multigrid]") {
  const whilst::poisson_3d_operator<double> A{1, 20, 1};
  const auto M = whilst::make_multigrid<double>(place::host(), A, {.coarsest_rows = 2});
  auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(
      A, whilst::composed_preconditioner<double>{M.get()}, {.executor = "host"});
  std::vector<double> b(20, 1.0), x(20, 0.0);
  CHECK(solver.solve(b, x).iterations() <= 4);
  CHECK(true_residual(grid_matrix<double>({20, 1, 1}, {1, 1, 1}, 4), b, x) <= 1.01e-8);
}

TEST_CASE("multigrid for an operator: what does not fit is refused", "[linear][multigrid]") {
  const auto message_of = [](const auto& make) {
    try {
      make();
    } catch (const whilst::error& problem) {
      return std::string(problem.what());
    }
    return std::string("none");
  };
  using whilst::make_multigrid;
  const std::string making = "making preconditioner multigrid: ";
  CHECK(message_of([] {
          make_multigrid<double>(place::host(), whilst::poisson_2d_operator<double>{3, 0});
        }) == making + "the grid has 0 points along an axis. Give 1 to 2^30");
  CHECK(message_of([] {
          make_multigrid<double>(place::host(), whilst::poisson_2d_operator<double>{3, (1 << 30) + 1});
        }) == making + "the grid has 1073741825 points along an axis. Give 1 to 2^30");
  CHECK(message_of([] {
          make_multigrid<double>(place::host(), whilst::poisson_3d_operator<double>{1 << 30, 1, 2});
        }) == making + "the grid has 2^31 points or more. Give fewer points along its axes");
  CHECK(message_of([] {
          make_multigrid<double>(place::host(), whilst::poisson_2d_operator<double>{3, 3}, {.sweeps = 0});
        }) == making + "sweeps is 0. Use 1 to 8");
  const auto M = make_multigrid<double>(place::host(), whilst::poisson_2d_operator<double>{3, 3});
  CHECK(message_of([&] {
          whilst::make_operator_solver<whilst::conjugate_gradient, double>(
              whilst::poisson_2d_operator<double>{3, 4}, whilst::composed_preconditioner<double>{M.get()},
              {.executor = "host"});
        }) ==
        making + "the grid has 9 points, and the operator 12 rows. Make it from the operator that is solved with");
  if (whilst::cuda::device_count() == 0) return;
  CHECK(message_of([&] {
          whilst::make_operator_solver<whilst::conjugate_gradient, double>(
              whilst::poisson_2d_operator<double>{3, 3}, whilst::composed_preconditioner<double>{M.get()},
              {.executor = "graph"});
        }).find("it was made for another place than that of the solver") != std::string::npos);
}

}  // namespace whilst_test
