// Solves with preconditioner "schwarz", and with aggregated blocks of "block_jacobi".
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/linear/preconditioned_solves.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"

namespace whilst_test {
namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

/// What a solve in these numbers is asked for.
template <class T>
constexpr double asked_of_subdomains = sizeof(T) == 4 ? 1e-4 : 1e-9;

template <class T>
index_type iterations_of(const csr_matrix<T>& A, const linear_solver_options& options) {
  const std::vector<T> b = random_vector<T>(A.rows(), 5);
  std::vector<T> x(b.size(), 0);
  linear_solver<T> solver(A, options);
  const report told = solver.solve(b, x);
  INFO(options.preconditioner << ", " << options.executor << ": " << name(told.reason()));
  CHECK(told.converged());
  CHECK(true_residual(A, b, x) <= 1.01 * options.rtol);
  return told.iterations();
}
/// P A P' for a random permutation.
csr_matrix<double> shuffled_matrix(const csr_matrix<double>& A) {
  std::vector<int> to(static_cast<std::size_t>(A.rows())), from(to.size());
  std::iota(to.begin(), to.end(), 0);
  std::mt19937 generator(2);
  std::shuffle(to.begin(), to.end(), generator);
  for (std::size_t i = 0; i < to.size(); ++i) from[static_cast<std::size_t>(to[i])] = static_cast<int>(i);
  triplets<double> t(A.rows());
  for (const int i : from) {
    std::vector<std::pair<int, double>> row;
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto e = static_cast<std::size_t>(k);
      row.emplace_back(to[static_cast<std::size_t>(A.column_indices()[e])], A.values()[e]);
    }
    t.row(row);
  }
  return t.matrix();
}
std::string message_of_schwarz(const linear_solver_options& options) {
  try {
    linear_solver<double> solver(whilst::make_gallery<double>("poisson2d:3").matrix, options);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("schwarz solves what a subdomain holds at once", "[linear][schwarz][sanitizer]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = whilst::make_gallery<T>("poisson2d:8").matrix;
  const std::vector<T> b = random_vector<T>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps())
    for (const std::string method : {"cg", "gmres"}) {
      std::vector<T> x(b.size(), 0);
      linear_solver<T> solver(A, {.method = method,
                                  .preconditioner = "schwarz,rows=64",
                                  .rtol = asked_of_subdomains<T>,
                                  .executor = executor});
      const report told = solver.solve(b, x);
      INFO(executor << ", " << method << ", " << name(told.reason()));
      CHECK(told.converged());
      CHECK(told.iterations() <= 3);  // an inverse in float is refined by two more
      CHECK(true_residual(A, b, x) <= 1.01 * asked_of_subdomains<T>);
      CHECK(told.preconditioner_choice() == "schwarz, 1 subdomain of 64 rows");
      const report again = solver.solve(b, x);  // warm
      CHECK(again.converged());
      CHECK(again.iterations() == 0);
    }
}

TEST_CASE("schwarz: every square method, and every format", "[linear][schwarz]") {
  const csr_matrix<double> definite = whilst::make_gallery<double>("elasticity2d:8").matrix;
  const csr_matrix<double> indefinite = whilst::make_gallery<double>("helmholtz2d:12").matrix;
  const csr_matrix<double> unsymmetric = convection_diffusion<double>(300);
  for (const std::string& executor : executors_with_steps()) {
    for (const auto& [A, kind] :
         {std::pair(&definite, matrix_kind::definite), std::pair(&indefinite, matrix_kind::indefinite),
          std::pair(&unsymmetric, matrix_kind::unsymmetric)})
      for (const std::string& method : methods_on(executor, kind)) {
        INFO(method);
        if (method == "cgs" && kind != matrix_kind::unsymmetric)
          continue;  // its residual passes the limit of divergence
        iterations_of(*A, {.method = method, .preconditioner = "schwarz,rows=16", .executor = executor});
      }
    for (const std::string format : {"bsr", "sell", "ell", "balanced"})
      iterations_of(definite, {.preconditioner = "schwarz", .format = format, .executor = executor});
  }
}

TEST_CASE("schwarz: overlap saves iterations, whatever the order of rows", "[linear][schwarz]") {
  const csr_matrix<double> grid = whilst::make_gallery<double>("poisson2d:40").matrix, mixed = shuffled_matrix(grid);
  for (const std::string& executor : executors_with_steps())
    for (const std::string method : {"cg", "bicgstab"})
      for (const csr_matrix<double>* const A : {&grid, &mixed}) {
        INFO(executor << ", " << method);
        const auto with = [&](const std::string& preconditioner) {
          return iterations_of(*A, {.method = method, .preconditioner = preconditioner, .executor = executor});
        };
        const index_type jacobi = with("jacobi"), without = with("schwarz,rows=25,overlap=0"),
                         one = with("schwarz,rows=25,overlap=1");
        CHECK(without < jacobi);
        CHECK(one < without);
        CHECK(2 * one <= jacobi);
        CHECK(with("block_jacobi,rows=25,blocks=aggregated") == without);
      }
}

TEST_CASE("block_jacobi: aggregated blocks find strong lines in any order", "[linear][block_jacobi][schwarz]") {
  const csr_matrix<double> lines = whilst::make_gallery<double>("anisotropic2d:40").matrix,
                           mixed = shuffled_matrix(lines);
  for (const std::string& executor : executors_with_steps()) {
    const auto with = [&](const csr_matrix<double>& A, const std::string& preconditioner) {
      return iterations_of(A, {.preconditioner = preconditioner, .executor = executor});
    };
    const index_type by_lines = with(lines, "block_jacobi,rows=40");
    CHECK(with(mixed, "block_jacobi,rows=40") > 3 * by_lines);
    const index_type found = with(mixed, "block_jacobi,rows=40,blocks=aggregated");
    CHECK(std::abs(found - by_lines) <= 1);  // the same blocks, other roundings
    linear_solver<double> solver(mixed, {.preconditioner = "block_jacobi,blocks=aggregated", .executor = executor});
    const std::vector<double> b = random_vector<double>(mixed.rows(), 5);
    std::vector<double> x(b.size(), 0);
    CHECK(solver.solve(b, x).preconditioner_choice() == "block_jacobi, 101 blocks of up to 16 rows");
  }
}

TEMPLATE_TEST_CASE("schwarz: new values are noticed", "[linear][schwarz][sanitizer]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = whilst::make_gallery<T>("poisson2d:8").matrix;
  const std::vector<T> b = random_vector<T>(A.rows(), 5), old(A.values().begin(), A.values().end());
  std::vector<T> other = old;
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const index_type j = A.column_indices()[static_cast<std::size_t>(k)];
      if (i == j) other[static_cast<std::size_t>(k)] += static_cast<T>(i % 7);
    }
  const csr_matrix<T> of_other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), other);
  for (const std::string& executor : executors_with_steps())
    for (const std::string method : {"cg", "gmres"}) {
      linear_solver<T> solver(A, {.method = method,
                                  .preconditioner = "schwarz,rows=64",  // so M is the inverse
                                  .rtol = asked_of_subdomains<T>,
                                  .executor = executor});
      std::vector<T> first(b.size(), 0), x(b.size(), 0), again(b.size(), 0);
      CHECK(solver.solve(b, first).iterations() <= 3);
      solver.update_values(other);
      const report told = solver.solve(b, x);
      INFO(executor << ", " << method << ": " << name(told.reason()) << ", " << told.iterations());
      CHECK(told.converged());
      CHECK(told.iterations() <= 3);
      CHECK(true_residual(of_other, b, x) <= 1.01 * asked_of_subdomains<T>);
      solver.update_values(old);
      solver.solve(b, again);
      CHECK(again == first);  // to the bit
    }
}

TEST_CASE("schwarz: two solvers at once", "[linear][schwarz]") {
  check_two_solvers_at_once(whilst::make_gallery<double>("poisson2d:20").matrix, "schwarz,rows=20,overlap=2");
}

TEST_CASE("schwarz: hostile matrices end with a reason", "[linear][schwarz]") {
  check_hostile_matrices("schwarz,rows=2", 1500);
}

TEST_CASE("schwarz: what does not go is refused", "[linear][schwarz]") {
  CHECK(message_of_schwarz({.preconditioner = "schwarz,rows=65"}) ==
        "making a linear solver: setting rows is 65 of preconditioner schwarz. Use 1 to 64");
  CHECK(message_of_schwarz({.preconditioner = "schwarz,rows=0"}).find("rows is 0") != std::string::npos);
  CHECK(message_of_schwarz({.preconditioner = "schwarz,overlap=5"})
            .find("overlap is 5 of preconditioner schwarz. "
                  "Use 0 to 4") != std::string::npos);
  CHECK(message_of_schwarz({.preconditioner = "schwarz,overlap=-1"}).find("overlap is -1") != std::string::npos);
  CHECK(message_of_schwarz({.preconditioner = "schwarz,precision=half"}).find("Use one of auto, float, double") !=
        std::string::npos);
  CHECK(message_of_schwarz({.preconditioner = "schwarz,layers=3"}).find("Use some of rows, overlap, precision") !=
        std::string::npos);
  CHECK(message_of_schwarz({.preconditioner = "block_jacobi,blocks=strong"}).find("Use one of natural, aggregated") !=
        std::string::npos);
  CHECK(message_of_schwarz({.preconditioner = "block_jacobi,blocks=aggregated", .block_jacobi = {.offsets = {0, 9}}})
            .find("blocks is 'aggregated', and offsets are given") != std::string::npos);
  CHECK(message_of_schwarz({.method = "lsqr", .preconditioner = "schwarz"}).find("wants one for A'A") !=
        std::string::npos);
}

}  // namespace whilst_test
