// Preconditioner amg that is lagged: its levels are made anew only where solves have become slower.

#include <cmath>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/amg_solves.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {
namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;

/// D A D for D of `size` in the upper half and 1 in the lower: definite as A is, and M of A is of little use for it.
std::vector<double> scaled_in_half(const csr_matrix<double>& A, double size) {
  std::vector<double> values(A.values().begin(), A.values().end());
  const auto d = [&](index_type i) { return 2 * i < A.rows() ? size : 1.0; };
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      values[static_cast<std::size_t>(k)] *= d(i) * d(A.column_indices()[static_cast<std::size_t>(k)]);
  return values;
}
linear_solver_options with_refresh(const std::string& refresh, const std::string& executor = "host",
                                   const std::string& method = "cg") {
  return {.method = method,
          .preconditioner = "amg,coarsest_rows=60,refresh=" + refresh,
          .rtol = 1e-8,
          .executor = executor};
}

}  // namespace

TEST_CASE("amg, lagged: time steps whose matrix changes little keep its levels", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:48").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 4);
  for (const std::string& executor : executors_with_steps()) {
    for (const std::string method : {"cg", "bicgstab", "fgmres"}) {
      INFO(executor << ", " << method);
      linear_solver<double> lagged(A, with_refresh("lagged", executor, method)),
          changed(A, with_refresh("changed", executor, method));
      const solution<double> first = solved_by(lagged, b);
      CHECK(first.told.converged());
      CHECK((solved_by(changed, b).x == first.x));
      for (int step = 1; step <= 4; ++step) {
        const std::vector<double> values = scaled_in_half(A, 1 + 0.02 * step);
        lagged.update_values(values);
        changed.update_values(values);
        const solution<double> late = solved_by(lagged, b), present = solved_by(changed, b);
        CHECK(late.told.converged());
        CHECK((late.x != present.x));  // by other levels
        CHECK(2 * late.told.iterations() <= 3 * first.told.iterations() + 4);
        CHECK(true_residual<double>({A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values}, b,
                                    late.x) <= 1.01e-8);
      }
    }
  }
}

TEST_CASE("amg, lagged: digits count from the first residual, as with a good x to begin with", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:32").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 4), other = scaled_in_half(A, 2);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> lagged(A, with_refresh("lagged", executor)), changed(A, with_refresh("changed", executor));
    const index_type usual = solved_by(lagged, b).told.iterations();  // for eight digits
    linear_solver<double> halfway(A, with_refresh("changed", executor));
    halfway.set_tolerances(1e-4, 0);
    for (linear_solver<double>* const one : {&lagged, &changed, &halfway}) one->update_values(other);
    std::vector<double> x = solved_by(halfway, b).x;
    const index_type slow = lagged.solve(b, x).iterations();
    CAPTURE(usual, slow);
    CHECK(2 * slow > 3 * usual / 2 + 4);  // for four digits
    CHECK(2 * slow <= 3 * usual + 4);
    CHECK((solved_by(lagged, b).x == solved_by(changed, b).x));
  }
}

TEST_CASE("amg, lagged: levels that fail before the first iteration are made anew", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:32").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 4);
  std::vector<double> negative(A.values().begin(), A.values().end());
  for (double& value : negative) value = -value;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> lagged(A, with_refresh("lagged", executor)), changed(A, with_refresh("changed", executor));
    CHECK(solved_by(lagged, b).told.converged());
    lagged.update_values(negative);
    changed.update_values(negative);
    CHECK(solved_by(lagged, b).told.reason() == whilst::reason::indefinite_preconditioner);
    CHECK((solved_by(lagged, b).x == solved_by(changed, b).x));
  }
}

TEST_CASE("amg, lagged: after a jump one solve is slow, and the next has levels of its own",
          "[linear][amg][sanitizer]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:32").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 4), jumped = scaled_in_half(A, 100);
  std::vector<double> by_stream;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> lagged(A, with_refresh("lagged", executor)), changed(A, with_refresh("changed", executor));
    const index_type usual = solved_by(lagged, b).told.iterations();
    lagged.update_values(jumped);
    changed.update_values(jumped);
    const solution<double> present = solved_by(changed, b), slow = solved_by(lagged, b);
    CHECK(slow.told.converged());
    CHECK(2 * slow.told.iterations() > 3 * usual + 4);
    CHECK((solved_by(lagged, b).x == present.x));
    // Back again, and at once.
    lagged.update_values(A.values());
    CHECK((solved_by(lagged, b).x != present.x));
    lagged.update_values(jumped);
    lagged.refresh_preconditioner();
    CHECK((solved_by(lagged, b).x == present.x));
    if (executor == "stream") by_stream = slow.x;
    if (executor == "graph" && !by_stream.empty()) CHECK((slow.x == by_stream));
  }
}

TEST_CASE("amg, lagged: what a solver of another preconditioner does with it is nothing", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:8").matrix;
  const std::vector<double> b(64, 1.0);
  for (const std::string M : {"none", "jacobi", "ic", "amg", "fsai", "auto"}) {
    linear_solver<double> solver(A, {.preconditioner = M, .executor = "host"});
    const solution<double> before = solved_by(solver, b);
    solver.refresh_preconditioner();
    CHECK((solved_by(solver, b).x == before.x));
  }
}

TEST_CASE("amg: explain() has a table of levels", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:32").matrix;
  linear_solver<double> solver(A, {.preconditioner = "amg,coarsest_rows=60,precision=double", .executor = "host"});
  const std::string text = solver.explain();
  INFO(text);
  const auto at = text.find("preconditioner amg,coarsest_rows=60,precision=double: V-cycle, operator complexity ");
  REQUIRE(at != std::string::npos);
  const std::string table = text.substr(at);
  CHECK(table.find("grid complexity ") != std::string::npos);
  CHECK(table.find(" steps a cycle, ") != std::string::npos);
  CHECK(table.find("      0       1024        4992     4.9  1 x spai0 ") != std::string::npos);
  CHECK(table.find("  ################################\n") != std::string::npos);
  CHECK(table.find("  inverse ") != std::string::npos);
  // Others tell what they have, and solvers without one the program alone.
  CHECK(linear_solver<double>(A, {.preconditioner = "ic", .executor = "host"}).explain().find("preconditioner ic: ") !=
        std::string::npos);
  CHECK(linear_solver<double>(A, {.preconditioner = "jacobi", .executor = "host"}).explain().find("preconditioner ") ==
        std::string::npos);
}

}  // namespace whilst_test
