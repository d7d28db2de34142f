// Solves with preconditioner "block_jacobi".
#include <cmath>
#include <limits>

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
constexpr double asked_of_blocks = sizeof(T) == 4 ? 1e-4 : 1e-9;

/// Uncoupled systems of `size` unknowns each, symmetric or not, whose diagonal is small beside the rest.
template <class T>
csr_matrix<T> uncoupled(int systems, int size, bool symmetric) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> value(0.5, 1);
  triplets<T> t(index_type{systems} * size);
  for (int s = 0; s < systems; ++s)
    for (int i = 0; i < size; ++i) {
      std::vector<std::pair<int, double>> row;
      for (int j = 0; j < size; ++j) {
        // Of (i, j) alone, so that both triangles agree: 1 / (1 + |i - j|), a definite matrix, or what moves it aside.
        const double entry = 1.0 / (1 + std::abs(i - j));
        row.emplace_back(s * size + (symmetric ? j : (j + 1) % size), symmetric ? entry : entry * value(generator));
      }
      t.row(row);
    }
  return t.matrix();
}
std::string message_of_making(const linear_solver_options& options) {
  try {
    linear_solver<double> solver(whilst::make_gallery<double>("poisson2d:3").matrix, options);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("block_jacobi solves what its blocks hold at once", "[linear][block_jacobi][sanitizer]", float,
                   double) {
  using T = TestType;
  for (const std::string& executor : executors_with_steps())
    for (const bool symmetric : {true, false})
      for (const auto& [systems, size] : std::vector<std::pair<int, int>>{{1, 1}, {1, 5}, {40, 3}, {30, 16}, {9, 64}}) {
        const csr_matrix<T> A = uncoupled<T>(systems, size, symmetric);
        const std::vector<T> b = random_vector<T>(A.rows(), 5);
        std::vector<T> x(b.size(), 0);
        linear_solver<T> solver(A, {.method = symmetric ? "cg" : "gmres",
                                    .preconditioner = "block_jacobi,rows=" + std::to_string(size),
                                    .rtol = asked_of_blocks<T>,
                                    .executor = executor});
        const report told = solver.solve(b, x);
        INFO(executor << ", " << systems << " of " << size << ", " << name(told.reason()));
        CHECK(told.converged());
        CHECK(told.iterations() <= 3);  // blocks in float are refined by two more
        CHECK(true_residual(A, b, x) <= 1.01 * asked_of_blocks<T>);
        CHECK(told.preconditioner_choice() == "block_jacobi, " + std::to_string(systems) +
                                                  (systems == 1 ? " block of " : " blocks of ") + std::to_string(size) +
                                                  " rows");
        const report again = solver.solve(b, x);  // warm
        CHECK(again.converged());
        CHECK(again.iterations() == 0);
      }
}

TEST_CASE("block_jacobi: every square method, and every format", "[linear][block_jacobi]") {
  const csr_matrix<double> definite = whilst::make_gallery<double>("elasticity2d:8").matrix;
  const csr_matrix<double> indefinite = whilst::make_gallery<double>("helmholtz2d:12").matrix;
  const csr_matrix<double> unsymmetric = convection_diffusion<double>(300);
  const auto check = [](const csr_matrix<double>& A, const linear_solver_options& options) {
    const std::vector<double> b = random_vector<double>(A.rows(), 5);
    std::vector<double> x(b.size(), 0);
    linear_solver<double> solver(A, options);
    const report told = solver.solve(b, x);
    INFO(options.method << ", " << options.executor << ", " << options.format << ": " << name(told.reason()));
    CHECK(told.converged());
    CHECK(true_residual(A, b, x) <= 1.01e-8);
    return told;
  };
  for (const std::string& executor : executors_with_steps()) {
    for (const auto& [A, kind] :
         {std::pair(&definite, matrix_kind::definite), std::pair(&indefinite, matrix_kind::indefinite),
          std::pair(&unsymmetric, matrix_kind::unsymmetric)})
      for (const std::string& method : methods_on(executor, kind)) {
        if (method == "cgs" && kind != matrix_kind::unsymmetric)
          continue;  // its residual passes the limit of divergence
        check(*A, {.method = method, .preconditioner = "block_jacobi", .executor = executor});
      }
    check(indefinite, {.method = "auto", .preconditioner = "block_jacobi", .executor = executor});
    for (const std::string format : {"bsr", "sell", "ell", "balanced"})
      check(definite, {.preconditioner = "block_jacobi", .format = format, .executor = executor});
    // A node has two unknowns.
    CHECK(check(definite, {.preconditioner = "block_jacobi", .executor = executor})
              .preconditioner_choice()
              .find(" blocks of 2 rows") != std::string::npos);
    CHECK(check(unsymmetric, {.method = "idr", .preconditioner = "block_jacobi", .executor = executor})
              .preconditioner_choice() == "block_jacobi, 19 blocks of 16 rows");
  }
}

TEST_CASE("block_jacobi finds full blocks of a matrix", "[linear][block_jacobi]") {
  using pattern = std::vector<std::vector<int>>;
  const auto dense = [](int n) {
    std::vector<int> row(static_cast<std::size_t>(n));
    for (int j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] = j;
    return pattern(static_cast<std::size_t>(n), row);
  };
  const std::vector<std::pair<pattern, int>> all{
      {{{0, 1, 2, 3}, {0, 1, 2, 3}, {2, 3}, {2, 3}}, 2},
      {{{2, 3, 0, 1}, {2, 3, 0, 1}, {2, 3}, {2, 3}}, 2},  // blocks in any order
      {{{0, 1}, {0, 1}, {1, 2}, {1, 2}}, 16},             // not where blocks begin
      {{{0, 1}, {0, 1}, {2, 3}, {3, 2}}, 16},             // columns of a block not in order
      {{{1, 0}, {1, 0}, {2, 3}, {2, 3}}, 16},
      {{{0, 1}, {0}, {2, 3}, {2, 3}}, 16},
      {{{0, 1}, {0, 1}, {2, 3}, {0, 1}}, 16},
      {{{0}}, 16},
      {dense(5), 5},
      {dense(7), 16},
      {dense(8), 4},
      {dense(12), 6},
  };
  for (const std::string& executor : executors_with_steps())
    for (const auto& [columns, rows] : all) {
      triplets<double> t(static_cast<index_type>(columns.size()));
      for (const std::vector<int>& row : columns) {
        std::vector<std::pair<int, double>> entries;
        for (const int j : row) entries.emplace_back(j, 1);
        t.row(entries);
      }
      linear_solver<double> solver(t.matrix(),
                                   {.method = "gmres", .preconditioner = "block_jacobi", .executor = executor});
      std::vector<double> b(columns.size(), 0), x(columns.size(), 0);
      const std::string made = solver.solve(b, x).preconditioner_choice();
      INFO(executor << ", " << columns.size() << " rows: " << made);
      CHECK(made.find(" of " + std::to_string(std::min<std::size_t>(rows, columns.size())) + " rows") !=
            std::string::npos);
    }
}

TEST_CASE("block_jacobi saves iterations where rows of a block are coupled most", "[linear][block_jacobi]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("anisotropic2d:40").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  const auto iterations = [&](const linear_solver_options& options) {
    std::vector<double> x(b.size(), 0);
    linear_solver<double> solver(A, options);
    const report told = solver.solve(b, x);
    CHECK(told.converged());
    return told.iterations();
  };
  for (const std::string& executor : executors_with_steps()) {
    const index_type by_jacobi = iterations({.preconditioner = "jacobi", .executor = executor}),
                     by_lines = iterations({.preconditioner = "block_jacobi,rows=40", .executor = executor});
    CHECK(4 * by_lines <= by_jacobi);  // a block is a line of the grid along which all is coupled strongly
    std::vector<index_type> offsets;
    for (index_type line = 0; line <= 40; ++line) offsets.push_back(40 * line);
    CHECK(iterations({.preconditioner = "block_jacobi", .block_jacobi = {.offsets = offsets}, .executor = executor}) ==
          by_lines);
  }
}

TEMPLATE_TEST_CASE("block_jacobi: new values are noticed", "[linear][block_jacobi][sanitizer]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = uncoupled<T>(20, 5, true);
  const std::vector<T> b = random_vector<T>(A.rows(), 5), old(A.values().begin(), A.values().end());
  std::vector<T> other = old;
  for (std::size_t k = 0; k < other.size(); ++k) other[k] *= static_cast<T>(k / 25 % 2 ? 3 : -1);  // each block as one
  const csr_matrix<T> of_other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), other);
  for (const std::string& executor : executors_with_steps()) {
    linear_solver<T> solver(A, {.method = "minres",
                                .preconditioner = "block_jacobi,rows=5",
                                .rtol = asked_of_blocks<T>,
                                .executor = executor});
    std::vector<T> first(b.size(), 0), x(b.size(), 0), again(b.size(), 0);
    CHECK(solver.solve(b, first).iterations() <= 3);
    solver.update_values(other);
    const report told = solver.solve(b, x);
    INFO(executor << ": " << name(told.reason()) << ", " << told.iterations());
    CHECK(told.converged());
    CHECK(told.iterations() <= 6);  // eigenvalues about 1 and -1
    CHECK(true_residual(of_other, b, x) <= 1.01 * asked_of_blocks<T>);
    solver.update_values(old);
    solver.solve(b, again);
    CHECK(again == first);  // to the bit
  }
}

TEST_CASE("block_jacobi: two solvers at once", "[linear][block_jacobi]") {
  check_two_solvers_at_once(whilst::make_gallery<double>("poisson2d:20").matrix, "block_jacobi,rows=7");
}

TEST_CASE("block_jacobi: hostile matrices end with a reason", "[linear][block_jacobi]") {
  check_hostile_matrices("block_jacobi,rows=2", 300);
}

TEST_CASE("block_jacobi: what does not go is refused", "[linear][block_jacobi]") {
  CHECK(
      message_of_making({.preconditioner = "block_jacobi,rows=65"}) ==
      "making a linear solver: setting rows is 65 of preconditioner block_jacobi. Use 1 to 64, or 0 for what suits the "
      "matrix");
  CHECK(message_of_making({.preconditioner = "block_jacobi,rows=-1"}).find("rows is -1") != std::string::npos);
  CHECK(message_of_making({.preconditioner = "block_jacobi,precision=half"}).find("Use one of auto, float, double") !=
        std::string::npos);
  CHECK(message_of_making({.preconditioner = "block_jacobi,size=3"}).find("Use some of rows, blocks, precision") !=
        std::string::npos);
  const auto with = [](std::vector<index_type> offsets) {
    return message_of_making({.preconditioner = "block_jacobi", .block_jacobi = {.offsets = std::move(offsets)}});
  };
  CHECK(with({0, 4, 9}) == "no exception");
  CHECK(with({0, 4, 8}).find("go from 0 to 8, and the matrix has 9 rows") != std::string::npos);
  CHECK(with({1, 9}).find("go from 1 to 9") != std::string::npos);
  CHECK(with({0, 5, 5, 9}).find("block 1 has 0 rows") != std::string::npos);
  CHECK(with({0, 10, 9}).find("block 1 has -1 rows") != std::string::npos);
  CHECK(message_of_making({.method = "lsqr", .preconditioner = "block_jacobi"}).find("wants one for A'A") !=
        std::string::npos);
}

}  // namespace whilst_test
