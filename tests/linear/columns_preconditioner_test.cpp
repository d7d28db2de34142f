// Several right-hand sides at once with preconditioners made from the matrix, against a direct solver and single
// solves.

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/SparseCholesky>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::columns_linear_solver;
using whilst::columns_report;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;

namespace {

const std::vector<std::string> for_any_matrix{"amg",  "ic",      "fsai",      "block_jacobi",
                                              "ssor", "schwarz", "chebyshev", "neumann"};

/// A tolerance that T can reach on well conditioned systems: rounding of a residual is some 10 epsilon of ||b||.
template <class T>
constexpr double within_reach = 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon());

template <class T>
std::vector<T> column_of(const std::vector<T>& all, index_type n, index_type k) {
  return {all.begin() + k * n, all.begin() + (k + 1) * n};
}

/// A solve from zero, at once.
template <class T>
columns_report solved(const csr_matrix<T>& A, index_type columns, const linear_solver_options& options,
                      const std::vector<T>& b, std::vector<T>& x) {
  columns_linear_solver<T> solver(A, columns, options);
  CHECK(solver.is_at_once());
  x.assign(b.size(), T(0));
  columns_report told = solver.solve(b, x);
  CAPTURE(told.message());
  CHECK(told.note().empty());
  for (index_type k = 0; k < columns; ++k) {
    if (!told[k].converged() || told[k].rhs_norm == 0) continue;
    const double residual = true_residual(A, column_of(b, A.rows(), k), column_of(x, A.rows(), k));
    CHECK(residual <= 1.01 * options.rtol + within_reach<T>);
  }
  return told;
}

std::string error_of_making(const linear_solver_options& options) {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:5").matrix;
  try {
    columns_linear_solver<double>(A, 2, options);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no error";
}

}  // namespace

TEMPLATE_TEST_CASE("three columns with a preconditioner by hand", "[linear][columns]", float, double) {
  // [2 -1 0; -1 2 -1; 0 -1 2] has these solutions of [1 0 1], [2 2 2], and [0 0 4].
  triplets<TestType> t(3);
  t.row({{0, 2}, {1, -1}});
  t.row({{0, -1}, {1, 2}, {2, -1}});
  t.row({{1, -1}, {2, 2}});
  const std::vector<TestType> b{1, 0, 1, 2, 2, 2, 0, 0, 4};
  const std::vector<double> exact{1, 1, 1, 3, 4, 3, 1, 2, 3};
  for (const std::string& executor : executors_with_steps())
    for (const std::string& M : for_any_matrix) {
      INFO(executor << ", " << M);
      std::vector<TestType> x;
      const columns_report told =
          solved(t.matrix(), 3, {.preconditioner = M, .rtol = within_reach<TestType>, .executor = executor}, b, x);
      CHECK(told.all_converged());
      CHECK(told.method() == "cg");
      CHECK(told.preconditioner() == M);
      CHECK(told.preconditioner_choice().find(M + ", ") == 0);
      for (const auto& column : told) CHECK(column.iterations <= 3);
      // The condition is 6.
      for (std::size_t i = 0; i < exact.size(); ++i)
        CHECK(static_cast<double>(x[i]) == Approx(exact[i]).epsilon(10 * within_reach<TestType>));
    }
}

TEMPLATE_TEST_CASE("preconditioned columns agree with a direct solver and with single solves", "[linear][columns]",
                   float, double) {
  for (const std::string& executor : executors_with_steps())
    for (const char* problem : {"poisson1d:1", "poisson2d:23", "elasticity2d:3"}) {
      const csr_matrix<TestType> A = whilst::make_gallery<TestType>(problem).matrix;
      const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> direct(
          Eigen::SparseMatrix<double>(to_eigen(A).template cast<double>()));
      std::vector<std::string> names = for_any_matrix;
      if (problem == std::string("poisson2d:23")) {
        names.emplace_back("multigrid");
        names.emplace_back("amg,coarsest_rows=20,revisited_level=1");
      }
      for (const std::string& M : names)
        for (const index_type columns : {1, 2, 5, 16}) {
          if (under_sanitizers && columns > 2 && M != "amg") continue;
          INFO(executor << ", " << problem << ", " << M << ", " << columns << " columns");
          const linear_solver_options options{
              .preconditioner = M, .rtol = 10 * within_reach<TestType>, .executor = executor};
          const std::vector<TestType> b = random_vector<TestType>(columns * A.rows(), 7);
          std::vector<TestType> x;
          const columns_report told = solved(A, columns, options, b, x);
          CHECK(told.all_converged());
          linear_solver<TestType> single(A, options);
          for (index_type k = 0; k < columns; ++k) {
            CAPTURE(k);
            std::vector<TestType> alone(static_cast<std::size_t>(A.rows()), 0);
            const whilst::report report = single.solve(column_of(b, A.rows(), k), alone);
            CHECK(told[k].reason == report.reason());
            // The same recurrences, with sums in another order.
            CHECK(std::abs(told[k].iterations - report.iterations()) <= 1 + report.iterations() / 10);
            if (sizeof(TestType) == 4) continue;
            const Eigen::VectorXd exact = direct.solve(to_eigen(column_of(b, A.rows(), k)).template cast<double>());
            // The error is at most the condition, some 1e4 here, times the residual.
            const Eigen::VectorXd found = to_eigen(column_of(x, A.rows(), k)).template cast<double>();
            CHECK((found - exact).norm() <= 1e5 * options.rtol * exact.norm());
          }
        }
    }
}

TEST_CASE("a preconditioned column ends for itself and leaves the others alone", "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:23").matrix;
  const auto n = static_cast<std::size_t>(A.rows());
  for (const std::string& executor : executors_with_steps())
    for (const std::string M : {"amg,coarsest_rows=20", "ic", "chebyshev"}) {
      INFO(executor << ", " << M);
      columns_linear_solver<double> solver(A, 7, {.preconditioner = M, .rtol = 1e-10, .executor = executor});
      const std::vector<double> b = random_vector<double>(7 * A.rows(), 7);
      std::vector<double> healthy(b.size(), 0);
      CHECK(solver.solve(b, healthy).all_converged());

      std::vector<double> others = b, x(b.size(), 0);
      std::fill_n(others.begin() + static_cast<std::ptrdiff_t>(n), n, 0.0);
      std::copy_n(healthy.begin() + static_cast<std::ptrdiff_t>(2 * n), n,
                  x.begin() + static_cast<std::ptrdiff_t>(2 * n));  // solved already
      others[3 * n + 5] = std::numeric_limits<double>::quiet_NaN();
      for (std::size_t i = 4 * n; i < 5 * n; ++i) others[i] *= 1e-200;
      const columns_report told = solver.solve(others, x);
      CHECK(told[0].reason == reason::converged_rtol);
      CHECK(column_of(x, A.rows(), 0) == column_of(healthy, A.rows(), 0));
      CHECK(told[1].iterations == 0);
      CHECK(column_of(x, A.rows(), 1) == std::vector<double>(n, 0));
      CHECK(told[2].iterations == 0);
      CHECK(column_of(x, A.rows(), 2) == column_of(healthy, A.rows(), 2));
      CHECK(told[3].reason == reason::nan_or_infinity);
      for (const double value : column_of(x, A.rows(), 3)) CHECK(std::isfinite(value));
      CHECK(told[4].reason == reason::converged_rtol);
      for (const index_type k : {5, 6}) CHECK(column_of(x, A.rows(), k) == column_of(healthy, A.rows(), k));
    }
}

TEST_CASE("preconditioned columns have the same bits each time, for any number of threads, and beside another solver",
          "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:40").matrix;
  const std::vector<double> b = random_vector<double>(5 * A.rows(), 7);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver_options options{.preconditioner = "amg,coarsest_rows=60", .executor = executor};
    std::vector<double> first, other(b.size(), 0), beside(b.size(), 0);
    solved(A, 5, options, b, first);
    columns_linear_solver<double> one(A, 5, options), two(A, 5, options);
    std::thread of_two([&] { two.solve(b, beside); });
    one.solve(b, other);
    of_two.join();
    CHECK(other == first);
    CHECK(beside == first);
    std::fill(other.begin(), other.end(), 0);
    one.solve(b, other);
    CHECK(other == first);
    options.threads = 1;
    solved(A, 5, options, b, other);
    CHECK(other == first);
    options.threads = 0;
    options.unroll = 3;
    solved(A, 5, options, b, other);
    CHECK(other == first);
  }
}

TEST_CASE("preconditioners of columns follow new values", "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:30").matrix;
  // Strong links along one axis: what was made of A is a poor M.
  std::vector<double> values(A.values().begin(), A.values().end());
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const index_type distance = A.column_indices()[entry] - i;
      values[entry] = distance == 0 ? 202.0 : std::abs(distance) == 1 ? -100 : -1;
    }
  const csr_matrix<double> B(A.rows(), A.rows(), A.row_offsets_32(), A.column_indices(),
                             std::span<const double>(values));
  const std::vector<double> b = random_vector<double>(3 * A.rows(), 7);
  for (const std::string& executor : executors_with_steps())
    for (const std::string M : {"ic", "fsai", "ssor", "chebyshev"}) {
      INFO(executor << ", " << M);
      const linear_solver_options options{.preconditioner = M, .executor = executor};
      columns_linear_solver<double> solver(A, 3, options);
      std::vector<double> first(b.size(), 0), x(b.size(), 0), fresh;
      solver.solve(b, first);
      solver.update_values(values);
      CHECK(solver.solve(b, x).all_converged());
      solved(B, 3, options, b, fresh);
      CHECK(x == fresh);
      solver.update_values(A.values());
      std::fill(x.begin(), x.end(), 0);
      solver.solve(b, x);
      CHECK(x == first);
    }
}

TEST_CASE("what auto has chosen for columns takes any new values", "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(2 * A.rows(), 7);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    columns_linear_solver<double> solver(A, 2, {.method = "cg", .preconditioner = "auto", .executor = executor});
    const auto solved_with = [&](const std::vector<double>& values, reason expected) {
      solver.update_values(values);
      std::vector<double> x(b.size(), 0);
      const columns_report told = solver.solve(b, x);
      INFO(told.message());
      CHECK(told.preconditioner() == "ic");
      for (index_type k = 0; k < 2; ++k) CHECK(told[k].reason == expected);
      return x;
    };
    const std::vector<double> values(A.values().begin(), A.values().end());
    const std::vector<double> first = solved_with(values, reason::converged_rtol);
    // The least eigenvalue of A is 0.04.
    solved_with(with_diagonal(A, 3.0), reason::indefinite_operator);
    solved_with(with_diagonal(A, std::numeric_limits<double>::quiet_NaN()), reason::nan_or_infinity);
    CHECK(solved_with(values, reason::converged_rtol) == first);
  }
}

TEST_CASE("enqueued columns with a preconditioner", "[linear][columns][sanitizer]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(3 * A.rows(), 7);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "amg,coarsest_rows=30", .executor = executor};
    std::vector<double> expected;
    solved(A, 3, options, b, expected);
    columns_linear_solver<double> solver(A, 3, options);
    const whilst::place where = executor == "host" ? whilst::place::host() : whilst::place::gpu(0);
    const whilst::buffer<double> given(where, 3 * A.rows(), b.data()), one(where, 3 * A.rows());
    const std::vector<double> zeros(b.size(), 0);
    whilst::buffer<double> other(where, 3 * A.rows(), zeros.data());
    const whilst::columns_ticket ticket = solver.enqueue(nullptr, given.data(), other.data());
    CHECK(ticket.wait().all_converged());
    std::vector<double> x(b.size());
    other.download(x.data());
    CHECK(x == expected);
  }
}

TEST_CASE("auto chooses a preconditioner of columns", "[linear][columns]") {
  const csr_matrix<double> small = whilst::make_gallery<double>("poisson2d:12").matrix,
                           large = whilst::make_gallery<double>("poisson2d:110").matrix;
  const std::vector<double> b_of_small = random_vector<double>(2 * small.rows(), 7),
                            b_of_large = random_vector<double>(2 * large.rows(), 7);
  for (const char* method : {"cg", "auto"}) {
    std::vector<double> x;
    const linear_solver_options options{.method = method, .preconditioner = "auto", .executor = "host"};
    const columns_report of_small = solved(small, 2, options, b_of_small, x);
    CHECK(of_small.all_converged());
    CHECK(of_small.preconditioner() == "ic");
    CHECK(of_small.preconditioner_choice().find("ic, ") == 0);
    CHECK(of_small.preconditioner_choice().find("; since the matrix is symmetric") != std::string::npos);
    const columns_report of_large = solved(large, 2, options, b_of_large, x);
    CHECK(of_large.all_converged());
    CHECK(of_large.preconditioner() == "amg");
    CHECK(of_large[0].iterations < 30);
  }
  // What is not symmetric is for other methods, one column after another.
  const csr_matrix<double> crooked = convection_diffusion<double>(144);
  columns_linear_solver<double> solver(crooked, 2, {.method = "auto", .preconditioner = "auto", .executor = "host"});
  CHECK_FALSE(solver.is_at_once());
  std::vector<double> x(b_of_small.size(), 0);
  CHECK(solver.solve(b_of_small, x).all_converged());
}

TEST_CASE("a solver of columns tells what it has made", "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:23").matrix;
  columns_linear_solver<double> solver(A, 6, {.preconditioner = "amg,coarsest_rows=20", .executor = "host"});
  const std::string text = solver.explain();
  CHECK(text.find("preconditioner amg,coarsest_rows=20: V-cycle") != std::string::npos);
  // As many steps as for one column, and one that turns R.
  const std::size_t down = text.find("step 'down: W R'");
  CHECK(down != std::string::npos);
  CHECK(text.find("step 'the coarsest level'") != std::string::npos);
  REQUIRE(!solver.memory().items.empty());
  CHECK(solver.memory().items.front().name == "the levels of amg");
  columns_linear_solver<double> in_turn(A, 2, {.method = "minres", .preconditioner = "amg", .executor = "host"});
  CHECK_FALSE(in_turn.is_at_once());
  CHECK(in_turn.explain().find("preconditioner amg: ") != std::string::npos);
}

TEST_CASE("matrices that no preconditioner of columns suits end with a reason", "[linear][columns]") {
  const auto ends = [](const std::vector<std::vector<std::pair<int, double>>>& rows, const std::string& M,
                       const std::string& executor) {
    triplets<double> t(static_cast<index_type>(rows.size()));
    for (const auto& row : rows) t.row(row);
    const std::vector<double> b(2 * rows.size(), 1);
    std::vector<double> x;
    const columns_report told =
        solved(t.matrix(), 2, {.preconditioner = M, .max_iterations = 50, .executor = executor}, b, x);
    for (const double value : x) CHECK(std::isfinite(value));
    CHECK(told[0].reason == told[1].reason);
    return told[0].reason;
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& executor : executors_with_steps())
    for (const std::string& M : for_any_matrix) {
      INFO(executor << ", " << M);
      CHECK(converged(ends({{{0, -3}}}, M, executor)));
      CHECK(ends({{{0, nan}, {1, 1}}, {{0, 1}, {1, 2}}}, M, executor) == reason::nan_or_infinity);
      CHECK(!converged(ends({{{0, 1}}, {}, {{2, 1}}}, M, executor)));
      CHECK(!converged(ends({{{0, 1}, {1, 1}}, {{0, 1}, {1, 1}}, {}}, M, executor)));
      CHECK(converged(ends({{{0, -2}, {1, 1}}, {{0, 1}, {1, -2}}}, M, executor)));
      const reason of_indefinite = ends({{{0, 1}, {1, 4}}, {{0, 4}, {1, 1}}, {{2, 1}}}, M, executor);
      CHECK((of_indefinite == reason::indefinite_operator || of_indefinite == reason::indefinite_preconditioner));
    }
}

TEST_CASE("with preconditioners that columns cannot take at once one follows another", "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:12").matrix;
  const std::vector<double> b = random_vector<double>(3 * A.rows(), 7);
  const std::vector<std::pair<std::string, std::string>> cases{{"ilu", "preconditioner ilu is not symmetric"},
                                                               {"spai", "preconditioner spai is not symmetric"},
                                                               {"amg,refresh=lagged", "refresh lagged of amg"}};
  for (const std::string& executor : executors_with_steps())
    for (const auto& [M, why] : cases) {
      INFO(executor << ", " << M);
      const linear_solver_options options{.preconditioner = M, .rtol = 1e-10, .executor = executor};
      columns_linear_solver<double> solver(A, 3, options);
      CHECK_FALSE(solver.is_at_once());
      std::vector<double> x(b.size(), 0);
      const columns_report told = solver.solve(b, x);
      CAPTURE(told.message(), told.note());
      CHECK(told.all_converged());
      CHECK(told.note().find("one column after another, since " + why) == 0);
      CHECK(told.preconditioner() == M);
      linear_solver<double> single(A, options);
      for (index_type k = 0; k < 3; ++k) {
        std::vector<double> alone(static_cast<std::size_t>(A.rows()), 0);
        CHECK(single.solve(column_of(b, A.rows(), k), alone).iterations() == told[k].iterations);
        CHECK(column_of(x, A.rows(), k) == alone);
        CHECK(true_residual(A, column_of(b, A.rows(), k), alone) <= 1.01 * options.rtol);
      }
      CHECK_THROWS_WITH(solver.enqueue(nullptr, b.data(), x.data()), contains("one after another"));
    }
}

TEST_CASE("preconditioners that columns cannot have are refused by name", "[linear][columns]") {
  const auto contains_all = [](const std::string& text, const std::vector<std::string>& parts) {
    INFO(text);
    for (const std::string& part : parts) CHECK(text.find(part) != std::string::npos);
  };
  const auto making = [](const std::string& M) {
    return error_of_making({.method = "cg", .preconditioner = M, .executor = "host"});
  };
  contains_all(making("solve"), {"M changes from one iteration to the next", "Name a flexible method"});
  contains_all(making("amg,cycle=K"), {"with cycle K, M changes", "Name a flexible method"});
  contains_all(making("amg,cycle=F"), {"with cycle F, M is not symmetric", "Name method flexible-cg"});
  contains_all(making("amg,strength=2"), {"setting strength is 2"});
  contains_all(making("amgx"), {"there is no preconditioner called 'amgx'"});
  CHECK(making("amg,cycle=W") == "no error");
}

}  // namespace whilst_test
