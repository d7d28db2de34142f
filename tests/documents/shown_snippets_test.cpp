// Fragments that the pages show, in tests that see them do what the pages say.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/whilst.hpp"

namespace {

/// -u'' = 1 on n points of a line, unscaled: u is (i + 1)(n - i) / 2. A residual of 1e-8 |b|, with |A^-1| < n^2 / 8,
/// leaves an error below 1e-8 n^2.5 / 8.
constexpr whilst::index_type n = 100;
const std::vector<double> b(n, 1.0);
void check_line(const std::vector<double>& x) {
  for (int i = 0; i < n; ++i)
    CHECK(std::abs(x[static_cast<std::size_t>(i)] - 0.5 * (i + 1) * (static_cast<int>(n) - i)) < 1e-8 * 1e5 / 8);
}
whilst::csr_matrix<double> line() { return whilst::make_gallery<double>("poisson1d:100").matrix; }

}  // namespace

TEST_CASE("the shown function solves without a solver to keep", "[shown]") {
  const whilst::csr_matrix<double> A = line();
  std::vector<double> x(n);
  // shown: function
  whilst::report report = whilst::solve(A, b, x, {.preconditioner = "jacobi"});
  // end of shown
  CHECK(report.converged());
  check_line(x);
}

TEST_CASE("the shown solve is enqueued and waited for", "[shown]") {
  whilst::linear_solver<double> solver(line(), {.executor = "host"});
  std::vector<double> x(n);
  const whilst::stream_handle stream = nullptr;  // on the host; and pointers are of host memory
  const double* const b_on_device = b.data();
  double* const x_on_device = x.data();
  // shown: enqueue
  whilst::ticket ticket = solver.enqueue(stream, b_on_device, x_on_device);  // allocates nothing, waits for nothing
  // ... ticket.progress(), ticket.cancel(), or other work ...
  whilst::report report = ticket.wait();
  // end of shown
  CHECK(report.converged());
  check_line(x);
}

TEST_CASE("the shown callback stands for the matrix", "[shown]") {
  std::vector<double> x(n);
  // shown: callback
  const auto apply = [](whilst::stream_handle, whilst::index_type n, const double* x, double* y) {
    for (whilst::index_type i = 0; i < n; ++i) y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
  };
  whilst::linear_solver<double> solver(n, apply, {.callback_memory = "host"});
  // end of shown
  CHECK(solver.solve(b, x).converged());
  check_line(x);
}

TEST_CASE("the shown monitor stops a solve that is good enough", "[shown]") {
  whilst::linear_solver<double> solver(line(), {.executor = "host"});
  std::vector<double> x(n);
  const double good_enough = 5;  // of 10 at the start
  // shown: monitor
  solver.set_monitor([&](const whilst::progress& now) {
    if (now.residual_norm < good_enough) solver.cancel();
  });
  // end of shown
  const whilst::report report = solver.solve(b, x);
  CHECK(report.reason() == whilst::reason::cancelled);
  CHECK(report.iterations() < 50);
}

TEST_CASE("the shown assembly adds up contributions", "[shown]") {
  // shown: assembly
  const std::vector<int> rows{0, 0, 1, 1, 1, 2}, columns{0, 1, 0, 1, 1, 2};
  const whilst::coo_assembly<double> assembly(3, 3, rows, columns);
  const std::vector<double> values{2, -1, -1, 1.5, 0.5, 1};
  const whilst::csr_matrix<double> A = assembly.matrix(values);  // A(1, 1) is 1.5 + 0.5
  // end of shown
  CHECK(std::vector<double>(A.values().begin(), A.values().end()) == std::vector<double>{2, -1, -1, 2, 1});
}

TEST_CASE("the shown null space gives the solution of least norm", "[shown]") {
  std::vector<double> b(900), x(900, 1.0);
  b.front() = 5;
  // shown: null space
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("neumann2d:30").matrix;
  whilst::linear_solver<double> solver(A, {.null_space = "constant"});
  const whilst::report report = solver.solve(b, x);  // the entries of x add up to zero
  const double lost = report.removed_norm();         // of b, in the null space: about 0 if A x = b has a solution
  // end of shown
  CHECK(report.converged());
  CHECK(lost == Approx(5.0 / 30));  // the mean of b is 5 / 900, of 900 entries
  double sum = 0;
  for (const double value : x) sum += value;
  CHECK(std::abs(sum) < 1e-10);
}

TEST_CASE("the shown deflation takes slow modes out", "[shown]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:24");
  const whilst::csr_matrix<double>& A = problem.matrix;
  const std::vector<double>& b = problem.rhs;
  std::vector<double> slow_modes;
  for (const auto& [p, q] : std::vector<std::pair<int, int>>{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1}})
    for (int i = 1; i <= 24; ++i)
      for (int j = 1; j <= 24; ++j)
        slow_modes.push_back(std::sin(p * i * std::numbers::pi / 25) * std::sin(q * j * std::numbers::pi / 25));
  std::vector<double> x(b.size()), y = x;
  const whilst::report without = whilst::linear_solver<double>(A, {.preconditioner = "jacobi"}).solve(b, y);
  // shown: deflation
  whilst::linear_solver<double> solver(A, {.preconditioner = "jacobi", .deflation = slow_modes});
  // end of shown
  const whilst::report report = solver.solve(b, x);
  CHECK(report.converged());
  CHECK(report.iterations() < without.iterations());
}

TEST_CASE("the shown inner solve converges", "[shown]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:24");
  const whilst::csr_matrix<double>& A = problem.matrix;
  std::vector<double> x(problem.rhs.size());
  // shown: solve
  whilst::linear_solver<double> solver(
      A, {.method = "fgmres", .preconditioner = "solve,method=bicgstab,rtol=0.01,precision=float"});
  // end of shown
  CHECK(solver.solve(problem.rhs, x).converged());
}

TEST_CASE("the shown multigrid makes levels, and makes them anew for other values", "[shown]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:40");
  const whilst::csr_matrix<double>& A = problem.matrix;
  const std::vector<double>& b = problem.rhs;
  std::vector<double> x(b.size());
  const auto check = [&](const whilst::report& report, double factor) {
    CHECK(report.converged());
    CHECK(report.iterations() <= 30);
    double residual = 0;
    for (whilst::index_type i = 0; i < A.rows(); ++i) {
      double r = b[static_cast<std::size_t>(i)];
      for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
        r -= factor * A.values()[static_cast<std::size_t>(k)] *
             x[static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)])];
      residual = std::hypot(residual, r);
    }
    CHECK(residual <= 1.01e-10 * 40);  // b is 1600 ones
  };
  // shown: amg
  whilst::linear_solver<double> solver(A, {.preconditioner = "amg", .rtol = 1e-10});
  const whilst::report report = solver.solve(b, x);
  std::printf("%s\n", report.preconditioner_choice().c_str());  // amg, 3 levels of ...
  // end of shown
  CHECK(report.preconditioner_choice().rfind("amg, ", 0) == 0);
  CHECK(report.preconditioner_choice().find(" levels of 1600, ") != std::string::npos);
  check(report, 1);
  std::vector<double> other(A.values().begin(), A.values().end());
  for (double& value : other) value *= 3;
  {
    whilst::report report;
    // shown: refresh
    solver.update_values(other);  // as ever: the next solve finds that they are new, and makes its levels from them
    report = solver.solve(b, x);
    // end of shown
    check(report, 3);
  }
}

TEST_CASE("the shown geometric multigrid solves", "[shown]") {
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:80").matrix;
  const std::vector<double> b(6400, 1.0);
  std::vector<double> x(6400);
  // shown: multigrid
  whilst::linear_solver<double> solver(A, {.preconditioner = "multigrid"});
  const whilst::report report = solver.solve(b, x);
  std::printf("%s\n", report.preconditioner_choice().c_str());  // multigrid, 4 grids of 80 x 80 x 1, ... points
  // end of shown
  CHECK(report.converged());
  CHECK(report.preconditioner_choice().find(" grids of 80 x 80 x 1, 40 x 40 x 1, ") != std::string::npos);
}

TEST_CASE("the shown solver chooses a method and a preconditioner", "[shown]") {
  const whilst::csr_matrix<double> A = line();
  std::vector<double> x(n);
  // shown: auto pairs
  whilst::linear_solver<double> solver(A, {.method = "auto", .preconditioner = "auto"});
  const whilst::report report = solver.solve(b, x);
  std::printf("%s\n", report.choice().c_str());  // cg with ic, since ...; then gmres with ilu,..., since ...
  // end of shown
  CHECK(report.converged());
  CHECK(report.choice().rfind("cg with ic, since the matrix is symmetric", 0) == 0);
  check_line(x);
}

TEST_CASE("the shown incomplete factors solve, and are made anew for other values", "[shown]") {
  // Row i is x_i - 4 x_(i+1) + x_(i+2), around a circle: the sum of a row is -2, and its largest entry beside the
  // diagonal.
  std::vector<int> offsets{0}, columns;
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    for (const auto& [shift, value] : {std::pair(0, 1.0), {1, -4.0}, {2, 1.0}}) {
      columns.push_back((i + shift) % static_cast<int>(n));
      values.push_back(value);
    }
    offsets.push_back(static_cast<int>(columns.size()));
  }
  const whilst::csr_matrix<double> A(n, n, offsets, columns, values);
  std::vector<double> x(n);
  whilst::report report;
  const auto check = [&](double expected) {
    CHECK(report.converged());
    CHECK(report.iterations() <= 10);
    for (const double value : x) CHECK(value == Approx(expected).epsilon(1e-6));
  };
  // shown: ilu
  whilst::linear_solver<double> solver(A, {.method = "gmres", .preconditioner = "ilu,drop=1e-5,fill=20"});
  report = solver.solve(b, x);
  std::printf("%s\n", report.preconditioner_choice().c_str());  // ilu, ... nonzeros, ... levels; matched; rcm
  // end of shown
  CHECK(report.preconditioner_choice().rfind("ilu, ", 0) == 0);
  CHECK(report.preconditioner_choice().find(" levels; matched; rcm") != std::string::npos);
  check(-0.5);
  std::vector<double> other = values;
  for (double& value : other) value = -std::abs(value);
  // shown: factors made anew
  solver.update_values(other);  // returns when the host has made the factors anew
  report = solver.solve(b, x);
  // end of shown
  check(-1.0 / 6);
}

TEST_CASE("the shown tones of an elastic body", "[shown]") {
  const whilst::gallery_problem<double> body = whilst::make_gallery<double>("elasticity3d:4");
  const whilst::csr_matrix<double>& A = body.matrix;
  const std::vector<double>& coordinates = body.coordinates;
  // shown: tones
  whilst::eigenvalue_options options{.count = 4, .preconditioner = "amg"};
  options.amg.unknowns_a_node = 3;
  options.amg.coordinates = coordinates;  // three numbers a node
  whilst::eigenvalue_solver<double> solver(A, options);
  // end of shown
  std::vector<double> X(static_cast<std::size_t>(4 * A.rows()), 0);
  const whilst::eigenvalue_report report = solver.solve(X);
  CHECK(report.converged());
  CHECK(report.iterations() < 30);
}

TEST_CASE("the shown range holds the eigenvalues", "[shown]") {
  const whilst::csr_matrix<double> A = line();
  // shown: range
  const whilst::eigenvalue_range range = whilst::estimate_eigenvalue_range(A);
  const double condition = range.greatest / range.least;  // at least so much, if A is definite
  // end of shown
  CHECK(range.norm == 4);
  CHECK(range.greatest > 3.5);
  CHECK(condition > 10);
  CHECK(condition <
        std::pow(1 / std::tan(std::acos(-1.0) / 2 / (n + 1)), 2) * (1 + 1e-10));  // 2 +- 2 cos(pi / (n + 1))
}
