// Eigenpairs by LOBPCG, against closed forms, a dense solver, and residuals computed anew in long double.

#include "whilst/eigenvalue_solver.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/eigenpairs.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::eigenvalue_options;
using whilst::eigenvalue_report;
using whilst::eigenvalue_solver;
using whilst::index_type;
using whilst::reason;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
csr_matrix<T> diagonal(const std::vector<double>& entries) {
  triplets<T> t(static_cast<index_type>(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) t.row({{static_cast<int>(i), entries[i]}});
  return t.matrix();
}

template <class T>
csr_matrix<T> from_dense(const Eigen::MatrixXd& A) {
  const auto n = A.rows();
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<T> values;
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      columns.push_back(static_cast<std::int32_t>(j));
      values.push_back(static_cast<T>(A(i, j)));
    }
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  return {n, n, offsets, columns, values};
}
template <class T>
csr_matrix<T> random_symmetric(int n, unsigned seed) {
  const std::vector<double> entries = random_vector<double>(index_type{n} * n, seed);
  const Eigen::Map<const Eigen::MatrixXd> half(entries.data(), n, n);
  // Rounded first, so that the float matrix is symmetric, too.
  const Eigen::MatrixXd rounded = half.cast<float>().cast<double>();
  return from_dense<T>(rounded + rounded.transpose());
}

}  // namespace

TEST_CASE("a 2 x 2 matrix by hand", "[linear][eigenvalues][sanitizer]") {
  triplets<double> t(2);
  t.row({{0, 2}, {1, 1}});
  t.row({{0, 1}, {1, 2}});  // 1 with (1, -1), 3 with (1, 1)
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<double> X;
    const eigenvalue_report told = solve(t.matrix(), X, {.count = 2, .executor = executor});
    check_pairs(t.matrix(), X, told, 1e-8);
    CHECK(told.eigenvalues[0] == Approx(1).epsilon(reachable<double>));
    CHECK(told.eigenvalues[1] == Approx(3).epsilon(reachable<double>));
    CHECK(X[0] == Approx(-X[1]).epsilon(reachable<double>));
    CHECK(X[2] == Approx(X[3]).epsilon(reachable<double>));
    CHECK(told.method() == "lobpcg");
    CHECK(told.executor() == executor);
  }
}

TEMPLATE_TEST_CASE("eigenvalues of few rows, fewer than the block has columns", "[linear][eigenvalues][sanitizer]",
                   float, double) {
  const double rtol = reachable<TestType>;
  for (const std::string& executor : executors_with_steps())
    for (const int n : {1, 2, 3, 5, 7, 17})
      for (const int count : {1, 2, 3, 7, 16})
        for (const char* which : {"smallest", "largest"}) {
          if (count > n) continue;
          INFO(executor << ", n = " << n << ", " << count << " " << which);
          const auto A = line<TestType>(n);
          const eigenvalue_options options{.count = count, .which = which, .rtol = rtol, .executor = executor};
          std::vector<TestType> X;
          const eigenvalue_report told = solve(A, X, options);
          check_pairs(A, X, told, rtol);
          check_values<TestType>(told, wanted(values_of_line(n), options), rtol);
        }
}

/// The columns at random that the first block is chosen from are far from orthogonal where there are about as many of
/// them as rows.
TEMPLATE_TEST_CASE("as many pairs as the block has columns, and about as many as rows", "[linear][eigenvalues]", float,
                   double) {
  const double rtol = reachable<TestType>;
  for (const std::string& executor : executors_with_steps())
    for (int count = 1; count <= 16; ++count)
      for (const int n : {count, count + 1, count + 2, 2 * count}) {
        INFO(executor << ", n = " << n << ", " << count << " pairs");
        const auto A = line<TestType>(n);
        const eigenvalue_options options{.count = count, .block_columns = count, .rtol = rtol, .executor = executor};
        std::vector<TestType> X;
        const eigenvalue_report told = solve(A, X, options);
        check_pairs(A, X, told, rtol);
        check_values<TestType>(told, wanted(values_of_line(n), options), rtol);
      }
}

TEMPLATE_TEST_CASE("eigenvalues under jacobi with tiny entries on the diagonal", "[linear][eigenvalues][sanitizer]",
                   float, double) {
  const double rtol = reachable<TestType>, tiny = sizeof(TestType) == 4 ? 1e-30 : 1e-200;
  std::vector<double> entries{tiny, -tiny, 0};
  for (int i = 1; i <= 30; ++i) entries.push_back(i);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const auto A = diagonal<TestType>(entries);
    const eigenvalue_options options{.count = 4, .preconditioner = "jacobi", .rtol = rtol, .executor = executor};
    std::vector<TestType> X;
    const eigenvalue_report told = solve(A, X, options);
    check_pairs(A, X, told, rtol);
    check_values<TestType>(told, {-tiny, 0, tiny, 1}, rtol);
  }
}

TEMPLATE_TEST_CASE("eigenvalues of the Laplacian on a square, many of them double", "[linear][eigenvalues]", float,
                   double) {
  const double rtol = sizeof(TestType) == 4 ? 1e-5 : 1e-9;
  const int nx = 40;  // 1600 rows: more than a block of threads, and several pieces
  const auto A = whilst::make_gallery<TestType>("poisson2d:40").matrix;
  for (const std::string& executor : executors_with_steps())
    for (const int count : {1, 2, 4, 8})
      for (const char* which : {"smallest", "largest"}) {
        if (under_sanitizers && count != 2 && count != 8) continue;  // two end within a double one
        INFO(executor << ", " << count << " " << which);
        const eigenvalue_options options{.count = count, .which = which, .rtol = rtol, .executor = executor};
        std::vector<TestType> X;
        const eigenvalue_report told = solve(A, X, options);
        check_pairs(A, X, told, rtol);
        // The distances are above 1e-3 ||A||, so an eigenvalue is right to rtol^2 / 1e-3 and rounding.
        check_values<TestType>(told, wanted(values_of_square(nx), options), rtol * rtol / 1e-3);
        CHECK(told.iterations() <= 250);
      }
}

TEMPLATE_TEST_CASE("eigenvalues of dense indefinite matrices", "[linear][eigenvalues][sanitizer]", float, double) {
  const double rtol = reachable<TestType>;
  for (const unsigned seed : {1u, 2u, 3u}) {
    if (under_sanitizers && seed > 1) break;
    const auto A = random_symmetric<TestType>(50, seed);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> dense(Eigen::MatrixXd(to_eigen(A)));
    const Eigen::VectorXd all = dense.eigenvalues();
    REQUIRE(all[0] < 0);
    for (const std::string& executor : executors_with_steps())
      for (const int count : {1, 3, 16})
        for (const char* which : {"smallest", "largest"})
          for (const char* preconditioner : {"none", "jacobi"}) {
            INFO(executor << ", seed " << seed << ", " << count << " " << which << ", " << preconditioner);
            const eigenvalue_options options{
                .count = count, .which = which, .preconditioner = preconditioner, .rtol = rtol, .executor = executor};
            std::vector<TestType> X;
            const eigenvalue_report told = solve(A, X, options);
            check_pairs(A, X, told, rtol);
            check_values<TestType>(told, wanted({all.begin(), all.end()}, options), rtol);
          }
  }
}

TEST_CASE("a preconditioner makes eigenvalues of a varied diagonal converge sooner", "[linear][eigenvalues]") {
  const int n = under_sanitizers ? 600 : 2000;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    const double d = 4.0 * std::pow(1000.0, static_cast<double>(i) / n);
    if (i == 0) {
      t.row({{0, d}, {1, -1}});
    } else if (i == n - 1) {
      t.row({{n - 2, -1}, {n - 1, d}});
    } else {
      t.row({{i - 1, -1}, {i, d}, {i + 1, -1}});
    }
  }
  const auto A = t.matrix();
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    index_type iterations[2];
    for (const bool jacobi : {false, true}) {
      std::vector<double> X;
      const eigenvalue_report told = solve(A, X,
                                           {.count = 4,
                                            .preconditioner = jacobi ? "jacobi" : "none",
                                            .rtol = 1e-11,
                                            .max_iterations = 5000,
                                            .executor = executor});
      check_pairs(A, X, told, 1e-11);
      iterations[jacobi] = told.iterations();
    }
    CHECK(2 * iterations[1] < iterations[0]);
  }
}

TEMPLATE_TEST_CASE("matrices without anything to iterate on", "[linear][eigenvalues][sanitizer]", float, double) {
  for (const std::string& executor : executors_with_steps())
    for (const double value : {0.0, 1.0, -3.0}) {
      INFO(executor << ", " << value << " times the identity");
      const auto A = diagonal<TestType>(std::vector<double>(100, value));
      std::vector<TestType> X;
      const eigenvalue_report told = solve(A, X, {.count = 3, .rtol = reachable<TestType>, .executor = executor});
      check_pairs(A, X, told, reachable<TestType>);
      CHECK(told.iterations() == 0);
      for (const double found : told.eigenvalues)
        CHECK(std::abs(found - value) <= value_rounding<TestType> * std::abs(value));
    }
}

TEMPLATE_TEST_CASE("eigenvalues at every scale", "[linear][eigenvalues]", float, double) {
  const bool in_float = sizeof(TestType) == 4;
  const double rtol = reachable<TestType>;
  const std::vector<double> factors = in_float ? std::vector<double>{1e-36, 1e-20, 1e20, 1e37}
                                               : std::vector<double>{1e-300, 1e-200, 1e-20, 1e20, 1e200, 1e307};
  const int n = 60;
  std::vector<double> exact = values_of_line(n);
  for (const std::string& executor : executors_with_steps())
    for (const double factor : factors)
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", A times " << factor << ", " << preconditioner);
        const auto A = line<TestType>(n, factor);
        const auto rounded = static_cast<double>(static_cast<TestType>(factor));
        std::vector<TestType> X;
        const eigenvalue_report told =
            solve(A, X, {.count = 3, .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
        CHECK(told.converged());
        for (std::size_t c = 0; c < 3; ++c)
          CHECK(std::abs(told.eigenvalues[c] / rounded - exact[c]) <= (rtol + value_rounding<TestType>)*4);
        CHECK(told.rhs_norm() == Approx(4 * rounded).epsilon(value_rounding<double>));
        CHECK(told.residual_norm() <= 1.01 * rtol * told.rhs_norm());
      }
}

TEMPLATE_TEST_CASE("a start at the solution takes no iteration", "[linear][eigenvalues][sanitizer]", float, double) {
  const double rtol = sizeof(TestType) == 4 ? 2e-5 : 1e-9;
  const auto A = whilst::make_gallery<TestType>("poisson2d:12").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    eigenvalue_solver<TestType> solver(A, {.count = 4, .rtol = rtol, .executor = executor});
    std::vector<TestType> X(static_cast<std::size_t>(4 * A.rows()), 0);
    CHECK(solver.solve(X).iterations() > 0);
    solver.set_tolerance(2 * rtol);
    const eigenvalue_report told = solver.solve(X);
    CHECK(told.iterations() == 0);
    check_pairs(A, X, told, 2 * rtol);
    // Of any length, and one missing.
    for (index_type i = 0; i < A.rows(); ++i) {
      X[static_cast<std::size_t>(i)] *= TestType(1e30);
      X[static_cast<std::size_t>(i + A.rows())] *= TestType(-1e-30);
      X[static_cast<std::size_t>(i + 3 * A.rows())] = 0;
    }
    solver.set_tolerance(rtol);
    const eigenvalue_report again = solver.solve(X);
    check_pairs(A, X, again, rtol);
    check_values<TestType>(again, wanted(values_of_square(12), {.count = 4}), rtol);
  }
}

TEST_CASE("a start with dependent columns", "[linear][eigenvalues]") {
  const auto A = line<double>(200);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<double> X(800, 1.0);
    const eigenvalue_report told =
        solve(A, X, {.count = 4, .rtol = 1e-10, .max_iterations = 5000, .executor = executor});
    check_pairs(A, X, told, 1e-10);
    check_values<double>(told, wanted(values_of_line(200), {.count = 4}), 1e-10);
  }
}

TEST_CASE("what is not finite ends an eigenvalue solve, and X stays as it was", "[linear][eigenvalues][sanitizer]") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::string& executor : executors_with_steps()) {
    for (const double value : {not_a_number, infinity, 1.7e308}) {
      INFO(executor << ", " << value << " in A");
      triplets<double> t(3);
      t.row({{0, 1}});
      t.row({{1, value}, {2, value == 1.7e308 ? value : 0}});  // the last: a sum that overflows
      t.row({{1, value == 1.7e308 ? value : 0}, {2, 1}});
      std::vector<double> X(3, 0.5);
      const eigenvalue_report told = solve(t.matrix(), X, {.executor = executor});
      CHECK(told.reason() == reason::nan_or_infinity);
      CHECK(told.iterations() == 0);
      CHECK(std::isnan(told.eigenvalues[0]));
      CHECK(X == std::vector<double>(3, 0.5));
    }
    for (const double value : {not_a_number, infinity}) {
      INFO(executor << ", " << value << " in X");
      std::vector<double> X(20, 1.0);
      X[7] = value;
      const eigenvalue_report told = solve(line<double>(20), X, {.executor = executor});
      CHECK(told.reason() == reason::nan_or_infinity);
      CHECK(X[6] == 1);
      CHECK_FALSE(X[7] == 1);
    }
  }
}

TEST_CASE("limits of an eigenvalue solve", "[linear][eigenvalues]") {
  const auto A = line<double>(1500);  // far from done after 20 iterations
  for (const std::string& executor : executors_with_steps())
    for (const int limit : {0, 1, 20}) {
      INFO(executor << ", limit " << limit);
      std::vector<double> X;
      const eigenvalue_report told =
          solve(A, X, {.count = 2, .rtol = 1e-12, .max_iterations = limit, .executor = executor});
      CHECK(told.reason() == reason::iteration_limit);
      CHECK(told.iterations() == limit);
      REQUIRE(!told.history().empty());
      CHECK(told.history().back().iteration == limit);
      // The last X all the same, with residuals that are true.
      const auto columns = columns_of(X, A.rows());
      for (std::size_t c = 0; c < 2; ++c)
        CHECK(true_residual(A, columns[c], told.eigenvalues[c]) == Approx(told.residual_norms[c]).epsilon(1e-9));
    }
}

TEST_CASE("an eigenvalue solve past its deadline, and one cancelled", "[linear][eigenvalues]") {
  const auto A = line<double>(3000);
  const eigenvalue_options options{.count = 2, .rtol = 0, .max_iterations = 1000000};
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    eigenvalue_options here = options;
    here.executor = executor;
    here.deadline = 1e-9;
    std::vector<double> X;
    const eigenvalue_report late = solve(A, X, here);
    CHECK(late.reason() == reason::deadline);
    CHECK(std::isfinite(late.residual_norm()));

    here.deadline = std::numeric_limits<double>::infinity();
    eigenvalue_solver<double> solver(A, here);
    solver.set_monitor([&](const whilst::progress& now) {
      if (now.iteration >= 3) solver.cancel();
    });
    std::fill(X.begin(), X.end(), 0.0);
    const eigenvalue_report stopped = solver.solve(X);
    CHECK(stopped.reason() == reason::cancelled);
    CHECK(stopped.iterations() >= 3);
    const auto columns = columns_of(X, A.rows());
    CHECK(true_residual(A, columns[0], stopped.eigenvalues[0]) == Approx(stopped.residual_norms[0]).epsilon(1e-8));
  }
}

TEMPLATE_TEST_CASE("a tolerance below rounding", "[linear][eigenvalues]", float, double) {
  const auto A = whilst::make_gallery<TestType>("poisson2d:12").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<TestType> X;
    const eigenvalue_report told = solve(A, X, {.count = 3, .rtol = 1e-18, .executor = executor});
    CHECK(told.reason() == reason::attainable_accuracy);
    CHECK(told.iterations() < 1000);
    // The history goes on over restarts.
    REQUIRE(!told.history().empty());
    CHECK(told.history().front().iteration == 0);
    CHECK(told.history().front().residual_norm > 0.01 * told.rhs_norm());
    CHECK(told.history().back().iteration == told.iterations());
    CHECK(told.residual_norm() <= reachable<TestType> * told.rhs_norm());
    check_values<TestType>(told, wanted(values_of_square(12), {.count = 3}), 0);
  }
}

TEST_CASE("histories of eigenvalue solves", "[linear][eigenvalues]") {
  const auto A = whilst::make_gallery<double>("poisson2d:12").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<double> X;
    const eigenvalue_report told = solve(A, X, {.count = 3, .executor = executor});
    const auto& history = told.history();
    REQUIRE(history.size() == static_cast<std::size_t>(told.iterations()) + 1);
    for (std::size_t k = 0; k < history.size(); ++k) CHECK(history[k].iteration == static_cast<index_type>(k));
    CHECK(history.front().residual_norm > history.back().residual_norm);
    // At the end X is turned once more, and its residuals with it.
    CHECK(history.back().residual_norm == Approx(told.residual_norm()).epsilon(0.1));
    CHECK(history.back().residual_norm <= 1e-8 * told.rhs_norm());
  }
}

TEST_CASE("an eigenvalue solve has the same bits each time and for any number of threads",
          "[linear][eigenvalues][race]") {
  const auto A = whilst::make_gallery<double>("poisson2d:40").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const eigenvalue_options options{.count = 3, .max_iterations = 10, .executor = executor};
    eigenvalue_solver<double> solver(A, options);
    std::vector<double> first(static_cast<std::size_t>(3 * A.rows()), 0), second = first, third = first;
    solver.solve(first);
    solver.solve(second);
    CHECK(first == second);
    eigenvalue_options alone = options;
    alone.threads = 1;
    eigenvalue_solver<double>(A, alone).solve(third);
    CHECK(first == third);
  }
}

TEST_CASE("iterates of an eigenvalue solve agree on every executor, with any unrolling", "[linear][eigenvalues]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  std::vector<double> expected;
  solve(A, expected, {.count = 2, .max_iterations = 7, .executor = "host"});
  for (const std::string& executor : executors_with_steps())
    for (const int unroll : {1, 3}) {
      INFO(executor << ", unroll " << unroll);
      std::vector<double> X;
      const eigenvalue_report told =
          solve(A, X, {.count = 2, .max_iterations = 7, .executor = executor, .unroll = unroll});
      CHECK(told.iterations() == 7);
      const double difference = (to_eigen(X) - to_eigen(expected)).norm();
      CHECK(difference <= 1e-9);  // sums in another order, for 7 iterations
    }
}

TEST_CASE("new values for an eigenvalue solver", "[linear][eigenvalues]") {
  const auto A = line<double>(50), B = line<double>(50, -3);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    eigenvalue_solver<double> solver(A, {.count = 2, .rtol = 1e-10, .executor = executor});
    std::vector<double> X(100, 0.0);
    check_pairs(A, X, solver.solve(X), 1e-10);
    solver.update_values(B.values());
    const eigenvalue_report told = solver.solve(X);
    check_pairs(B, X, told, 1e-10);
    CHECK(told.eigenvalues[0] == Approx(-3 * values_of_line(50).back()).epsilon(1e-12));
    std::vector<double> crooked(B.values().begin(), B.values().end());
    crooked[1] = 7;
    CHECK_THROWS_WITH(solver.update_values(crooked), contains("the matrix is not symmetric"));
    CHECK_THROWS_WITH(solver.update_values(std::vector<double>(3)), contains("there are 3 for 148 nonzeros"));
    check_pairs(B, X, solver.solve(X), 1e-10);
  }
}

TEST_CASE("eigenvalues of a matrix with offsets in 64 bits", "[linear][eigenvalues]") {
  const auto A = line<double>(100);
  const std::vector<std::int64_t> wide(A.row_offsets_32().begin(), A.row_offsets_32().end());
  const csr_matrix<double> same(100, 100, wide, A.column_indices(), A.values());
  REQUIRE(same.has_64bit_offsets());
  std::vector<double> X, Y;
  solve(A, X, {.count = 2, .executor = "host"});
  solve(same, Y, {.count = 2, .executor = "host"});
  CHECK(X == Y);
}

TEST_CASE("tickets of eigenvalue solves", "[linear][eigenvalues]") {
  const auto A = line<double>(30);
  eigenvalue_solver<double> solver(A, {.count = 2, .rtol = 1e-10, .executor = "host"});
  CHECK(solver.block_columns() == 4);
  std::vector<double> X(60, 0.0), Y(60, 0.0);
  const whilst::eigenvalue_ticket one = solver.enqueue(nullptr, X.data());
  solver.update_values(line<double>(30, 2).values());
  const whilst::eigenvalue_ticket other = solver.enqueue(nullptr, Y.data());
  CHECK(one.done());
  check_pairs(A, X, one.wait(), 1e-10);
  check_pairs(line<double>(30, 2), Y, other.wait(), 1e-10);
  CHECK(other.wait().eigenvalues[0] == Approx(2 * one.wait().eigenvalues[0]).epsilon(1e-12));
  CHECK(solver.explain().find("loop 'lobpcg'") != std::string::npos);
}

TEST_CASE("what an eigenvalue solver refuses", "[linear][eigenvalues]") {
  const auto A = line<double>(10);
  const auto make = [&](eigenvalue_options options) { eigenvalue_solver<double>(A, options); };
  CHECK_THROWS_WITH(make({.count = 0}), contains("count is 0. Give 1 to 16"));
  CHECK_THROWS_WITH(make({.count = 17}), contains("count is 17"));
  CHECK_THROWS_WITH(make({.count = 11}), contains("the matrix has 10 rows, and 11 pairs are wanted"));
  CHECK_THROWS_WITH(make({.which = "middle"}), contains("there are no 'middle' eigenvalues. Use one of smallest, la"));
  CHECK_THROWS_WITH(make({.method = "power"}), contains("there is no method called 'power'. Use lobpcg"));
  CHECK_THROWS_WITH(make({.preconditioner = "ilut"}), contains("there is no preconditioner called 'ilut'"));
  CHECK_THROWS_WITH(make({.count = 4, .block_columns = 3}), contains("block_columns is 3. Give 4, the count, to 24"));
  CHECK_THROWS_WITH(make({.rtol = -1}), contains("rtol is negative or not finite"));
  CHECK_THROWS_WITH(make({.max_iterations = -1}), contains("max_iterations is -1"));
  CHECK_THROWS_WITH(make({.deadline = 0}), contains("the deadline is not above 0"));
  CHECK_THROWS_WITH(make({.executor = "gpu"}), contains("gpu"));
  CHECK_THROWS_WITH(make({.history_capacity = 1}), contains("history_capacity is below 2"));
  CHECK_NOTHROW(make({.history_capacity = 5}));
  CHECK_THROWS_WITH(eigenvalue_solver<double>(convection_diffusion<double>(5)),
                    contains("the matrix is not symmetric"));
  const csr_matrix<double> flat(1, 2, std::vector<int>{0, 1}, std::vector<int>{1}, std::vector<double>{1});
  CHECK_THROWS_WITH(eigenvalue_solver<double>(flat), contains("the matrix has 1 rows and 2 columns"));
  eigenvalue_solver<double> solver(A, {.executor = "host"});
  std::vector<double> X(9);
  CHECK_THROWS_WITH(solver.solve(X), contains("X has 9 entries, and 1 vectors of 10 have 10"));
  CHECK_THROWS_WITH(solver.set_tolerance(not_a_number), contains("rtol is negative or not finite"));
}

}  // namespace whilst_test
