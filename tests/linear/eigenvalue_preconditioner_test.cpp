// Eigenpairs by LOBPCG with preconditioners made from the matrix, against closed forms and a dense solver.

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/Dense>

#include "solvers/problems/gallery_elasticity.hpp"
#include "tests/catch.hpp"
#include "tests/linear/eigenpairs.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::eigenvalue_options;
using whilst::eigenvalue_report;
using whilst::eigenvalue_solver;
using whilst::index_type;
using whilst::reason;

namespace {

const std::vector<std::string> made_for_eigenvalues{"amg",  "ic",      "fsai",      "block_jacobi",
                                                    "ssor", "schwarz", "chebyshev", "neumann"};

/// Of the 7-point Laplacian on nx x nx x nx points, in ascending order.
std::vector<double> values_of_cube(int nx) {
  std::vector<double> values;
  for (const double of_square : values_of_square(nx))
    for (const double of_line : values_of_line(nx)) values.push_back(of_square + of_line);
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("eigenvalues of few rows with a preconditioner", "[linear][eigenvalues]", float, double) {
  const double rtol = reachable<TestType>;
  for (const std::string& executor : executors_with_steps())
    for (const std::string& M : made_for_eigenvalues)
      for (const int n : {1, 2, 3, 17}) {
        INFO(executor << ", " << M << ", n = " << n);
        const auto A = line<TestType>(n);
        const eigenvalue_options options{
            .count = n < 3 ? n : 3, .preconditioner = M, .rtol = rtol, .executor = executor};
        std::vector<TestType> X;
        const eigenvalue_report told = solve(A, X, options);
        check_pairs(A, X, told, rtol);
        check_values<TestType>(told, wanted(values_of_line(n), options), rtol);
      }
}

TEMPLATE_TEST_CASE("preconditioners take fewer iterations to the smallest eigenvalues of a cube",
                   "[linear][eigenvalues]", float, double) {
  const double rtol = sizeof(TestType) == 4 ? 2e-5 : 1e-9;
  const int nx = under_sanitizers ? 8 : 16;
  const auto A = whilst::make_gallery<TestType>("poisson3d:" + std::to_string(nx)).matrix;
  for (const std::string& executor : executors_with_steps()) {
    const auto iterations = [&](const std::string& M) {
      INFO(executor << ", " << M);
      const eigenvalue_options options{.count = 4, .preconditioner = M, .rtol = rtol, .executor = executor};
      std::vector<TestType> X;
      const eigenvalue_report told = solve(A, X, options);
      check_pairs(A, X, told, rtol);
      // Three of the four are one triple eigenvalue. The next is 1e-3 ||A|| away.
      check_values<TestType>(told, wanted(values_of_cube(nx), options), rtol * rtol / 1e-3);
      CHECK(told.preconditioner() == M);
      return told.iterations();
    };
    const index_type by_jacobi = iterations("jacobi"), by_amg = iterations("amg,coarsest_rows=100");
    CAPTURE(by_jacobi, by_amg);
    if (!under_sanitizers) CHECK(2 * by_amg < by_jacobi);
    CHECK(by_amg <= 20);
    for (const char* M : {"ic", "fsai", "multigrid", "chebyshev"}) CHECK(iterations(M) < by_jacobi);
  }
}

TEST_CASE("amg finds the lowest tones of an elastic body", "[linear][eigenvalues]") {
  const whilst::gallery_problem<double> beam =
      whilst::make_gallery<double>(under_sanitizers ? "elasticity3d:3" : "elasticity3d:5");
  const csr_matrix<double>& A = beam.matrix;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> dense(Eigen::MatrixXd(to_eigen(A)), Eigen::EigenvaluesOnly);
  const Eigen::VectorXd all = dense.eigenvalues();
  const double rtol = 1e-9;
  for (const std::string& executor : executors_with_steps()) {
    index_type iterations[2];
    for (const bool by_amg : {false, true}) {
      INFO(executor << (by_amg ? ", amg" : ", jacobi"));
      eigenvalue_options options{.count = 5,
                                 .preconditioner = by_amg ? "amg,coarsest_rows=50" : "jacobi",
                                 .rtol = rtol,
                                 .max_iterations = 3000,
                                 .executor = executor};
      options.amg.unknowns_a_node = beam.unknowns_a_node;
      options.amg.coordinates = beam.coordinates;
      std::vector<double> X;
      const eigenvalue_report told = solve(A, X, options);
      check_pairs(A, X, told, rtol);
      // Within a residual of each pair there is an eigenvalue, whatever the distances are.
      check_values<double>(told, wanted({all.begin(), all.end()}, options), rtol);
      iterations[by_amg] = told.iterations();
    }
    CAPTURE(iterations[0], iterations[1]);
    CHECK(3 * iterations[1] < iterations[0]);
  }
}

TEMPLATE_TEST_CASE("preconditioned eigenvalues at every scale", "[linear][eigenvalues]", float, double) {
  const bool in_float = sizeof(TestType) == 4;
  const double rtol = reachable<TestType>;
  const std::vector<double> factors =
      in_float ? std::vector<double>{1e-36, 1e37} : std::vector<double>{1e-307, 1e-200, 1e200, 1e307};
  for (const std::string& executor : executors_with_steps())
    for (const double factor : factors)
      for (const std::string M : {"amg", "fsai", "chebyshev", "block_jacobi"}) {
        INFO(executor << ", A times " << factor << ", " << M);
        const auto A = line<TestType>(60, factor);
        const auto rounded = static_cast<double>(static_cast<TestType>(factor));
        std::vector<TestType> X;
        const eigenvalue_report told =
            solve(A, X, {.count = 3, .preconditioner = M, .rtol = rtol, .executor = executor});
        CHECK(told.converged());
        const std::vector<double> exact = values_of_line(60);
        for (std::size_t c = 0; c < 3; ++c)
          CHECK(std::abs(told.eigenvalues[c] / rounded - exact[c]) <= (rtol + value_rounding<TestType>)*4);
      }
}

TEST_CASE("amg takes what is singular, as a Laplacian of a ring", "[linear][eigenvalues]") {
  const int n = 300;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) t.row({{(i + n - 1) % n, -1}, {i, 2}, {(i + 1) % n, -1}});
  for (const std::string& executor : executors_with_steps())
    for (const std::string M : {"amg,coarsest_rows=20", "amg,coarsest_rows=20,precision=double", "fsai", "ssor"}) {
      INFO(executor << ", " << M);
      std::vector<double> X;
      const eigenvalue_report told =
          solve(t.matrix(), X, {.count = 3, .preconditioner = M, .rtol = 1e-8, .executor = executor});
      check_pairs(t.matrix(), X, told, 1e-8);
      const double first = 4 * std::pow(std::sin(std::numbers::pi / n), 2);
      check_values<double>(told, {0, first, first}, 1e-8);
    }
}

TEST_CASE("preconditioned eigenvalue solves: repeated, started from the solution, beside another",
          "[linear][eigenvalues][sanitizer]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const eigenvalue_options options{
        .count = 4, .preconditioner = "amg,coarsest_rows=30", .rtol = 1e-9, .executor = executor};
    eigenvalue_solver<double> solver(A, options), another(A, options);
    std::vector<double> first(static_cast<std::size_t>(4 * A.rows()), 0), again = first, beside = first;
    const index_type iterations = solver.solve(first).iterations();
    std::thread other([&] { another.solve(beside); });
    solver.solve(again);
    other.join();
    CHECK(again == first);
    CHECK(beside == first);
    solver.set_tolerance(2e-9);
    CHECK(solver.solve(again).iterations() == 0);
    std::vector<double> one_thread(first.size(), 0);
    eigenvalue_options alone = options;
    alone.threads = 1;
    CHECK(solve(A, one_thread, alone).iterations() == iterations);
    CHECK(one_thread == first);
  }
}

TEST_CASE("preconditioners of an eigenvalue solver follow new values", "[linear][eigenvalues]") {
  const auto A = line<double>(200), B = line<double>(200, 5);
  for (const std::string& executor : executors_with_steps())
    for (const std::string M : {"amg,coarsest_rows=20", "ic", "schwarz"}) {
      INFO(executor << ", " << M);
      const eigenvalue_options options{.count = 2, .preconditioner = M, .rtol = 1e-10, .executor = executor};
      eigenvalue_solver<double> solver(A, options);
      std::vector<double> X(400, 0.0), fresh;
      const eigenvalue_report before = solver.solve(X);
      check_pairs(A, X, before, 1e-10);
      solver.update_values(B.values());
      std::fill(X.begin(), X.end(), 0);
      const eigenvalue_report told = solver.solve(X);
      check_pairs(B, X, told, 1e-10);
      CHECK(std::abs(told.iterations() - solve(B, fresh, options).iterations()) <= 1);
    }
}

TEST_CASE("what keeps a preconditioned eigenvalue solve from converging is told", "[linear][eigenvalues]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& executor : executors_with_steps())
    for (const std::string& M : made_for_eigenvalues) {
      INFO(executor << ", " << M);
      const auto ends = [&](const std::vector<std::vector<std::pair<int, double>>>& rows) {
        triplets<double> t(static_cast<index_type>(rows.size()));
        for (const auto& row : rows) t.row(row);
        std::vector<double> X;
        const eigenvalue_report told =
            solve(t.matrix(), X, {.preconditioner = M, .max_iterations = 50, .executor = executor});
        if (told.converged()) check_pairs(t.matrix(), X, told, 1e-8);
        return told.reason();
      };
      CHECK(ends({{{0, 1}, {1, 0}}, {{0, 0}, {1, nan}}}) == reason::nan_or_infinity);
      CHECK(ends({{{0, 1}}, {}, {{2, 1}}}) == reason::converged_rtol);
      // These alone look whether A is definite.
      const bool looks = M == "chebyshev" || M == "neumann";
      const auto or_else = [&](reason found) { return looks ? found : reason::converged_rtol; };
      CHECK(ends({{{0, -3}}}) == or_else(reason::indefinite_preconditioner));
      CHECK(ends({{{0, 1}, {1, 4}}, {{0, 4}, {1, 1}}, {{2, 1}}}) == or_else(reason::indefinite_operator));
      CHECK(ends({{}, {}}) == or_else(reason::indefinite_operator));
    }
}

TEST_CASE("that a preconditioner wants a definite matrix is told as such", "[linear][eigenvalues]") {
  const auto told = [](double diagonal) {
    triplets<double> t(2);
    t.row({{0, diagonal}, {1, 4}});
    t.row({{0, 4}, {1, diagonal}});
    std::vector<double> X;
    return solve(t.matrix(), X, {.preconditioner = "chebyshev", .executor = "host"}).message();
  };
  CHECK_THAT(told(1), contains("the matrix is not definite, as its preconditioner demands after 0"));
  CHECK_THAT(told(-9), contains("the preconditioner is not positive definite after 0"));
}

TEST_CASE("what auto has chosen for eigenvalues takes any new values", "[linear][eigenvalues]") {
  const int nx = 20;
  const auto A = whilst::make_gallery<double>("poisson2d:" + std::to_string(nx)).matrix;
  const std::vector<double> values(A.values().begin(), A.values().end());
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const eigenvalue_options options{.count = 2, .preconditioner = "auto", .rtol = 1e-8, .executor = executor};
    eigenvalue_solver<double> solver(A, options);
    std::vector<double> X, first;
    const auto solved_with = [&](const std::vector<double>& others) {
      solver.update_values(others);
      X.assign(static_cast<std::size_t>(2 * A.rows()), 0);
      const eigenvalue_report told = solver.solve(X);
      CHECK(told.preconditioner() == "ic");
      return told;
    };
    check_pairs(A, X, solved_with(values), options.rtol);
    first = X;
    // No longer definite: the least eigenvalue of A is 0.04.
    const std::vector<double> less = with_diagonal(A, 3.0);
    const csr_matrix<double> B(A.rows(), A.rows(), A.row_offsets_32(), A.column_indices(),
                               std::span<const double>(less));
    check_pairs(B, X, solved_with(less), options.rtol);
    CHECK(solved_with(with_diagonal(A, std::numeric_limits<double>::quiet_NaN())).reason() == reason::nan_or_infinity);
    check_pairs(A, X, solved_with(values), options.rtol);
    CHECK(X == first);
  }
}

TEST_CASE("auto makes nothing for eigenvalues from a diagonal that is not positive", "[linear][eigenvalues]") {
  const int nx = 20;
  const auto A = whilst::make_gallery<double>("poisson2d:" + std::to_string(nx)).matrix;
  for (const std::string& executor : executors_with_steps())
    for (const double diagonal : {-5.0, 0.0}) {  // -5: negative definite
      INFO(executor << ", diagonal " << diagonal);
      const std::vector<double> values = with_diagonal(A, diagonal);
      const csr_matrix<double> B(A.rows(), A.rows(), A.row_offsets_32(), A.column_indices(),
                                 std::span<const double>(values));
      const eigenvalue_options options{.count = 3, .preconditioner = "auto", .rtol = 1e-8, .executor = executor};
      std::vector<double> X;
      const eigenvalue_report told = solve(B, X, options);
      CHECK(told.preconditioner() == "none");
      check_pairs(B, X, told, options.rtol);
      std::vector<double> shifted = values_of_square(nx);
      for (double& value : shifted) value += diagonal - 4;
      check_values<double>(told, wanted(shifted, options), options.rtol);
    }
}

TEST_CASE("auto and what an eigenvalue solver tells of its preconditioner", "[linear][eigenvalues]") {
  const auto A = whilst::make_gallery<double>("poisson2d:110").matrix;
  eigenvalue_solver<double> solver(A, {.count = 2, .preconditioner = "auto", .rtol = 1e-6, .executor = "host"});
  std::vector<double> X(static_cast<std::size_t>(2 * A.rows()), 0);
  const eigenvalue_report told = solver.solve(X);
  check_pairs(A, X, told, 1e-6);
  CHECK(told.preconditioner() == "amg");
  CHECK(told.preconditioner_choice().find("amg, ") == 0);
  CHECK(told.preconditioner_choice().find("; since the matrix is symmetric") != std::string::npos);
  CHECK(solver.explain().find("preconditioner amg: V-cycle") != std::string::npos);
  CHECK(solver.memory().items.front().name == "the levels of amg");
  std::vector<double> Y;
  const eigenvalue_report of_largest =
      solve(line<double>(20), Y, {.which = "largest", .preconditioner = "auto", .executor = "host"});
  CHECK(of_largest.converged());
  CHECK(of_largest.preconditioner() == "none");
}

TEST_CASE("preconditioners that an eigenvalue solver refuses", "[linear][eigenvalues]") {
  const auto make = [](const char* M, const char* which = "smallest") {
    eigenvalue_solver<double>(line<double>(20), {.which = which, .preconditioner = M, .executor = "host"});
  };
  CHECK_THROWS_WITH(make("ilu"), contains("preconditioner ilu is not symmetric") && contains("Use ic"));
  CHECK_THROWS_WITH(make("spai"), contains("Use fsai"));
  CHECK_THROWS_WITH(make("solve"), contains("Name another one, as amg"));
  CHECK_THROWS_WITH(make("amg,cycle=K"), contains("Use cycle V or W"));
  CHECK_THROWS_WITH(make("amg,refresh=lagged"), contains("Use refresh=changed"));
  CHECK_THROWS_WITH(make("amg", "largest"), contains("close to the inverse of A") && contains("use none or jacobi"));
  CHECK_THROWS_WITH(make("amg,strength=2"), contains("setting strength is 2"));
}

}  // namespace whilst_test
