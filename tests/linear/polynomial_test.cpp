// Solves with preconditioners "chebyshev" and "neumann".
#include <cmath>
#include <limits>
#include <memory>

#include "tests/catch.hpp"
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

const std::vector<std::string>& polynomials() {
  static const std::vector<std::string> all{"chebyshev", "chebyshev,degree=1", "chebyshev,degree=9,ratio=40", "neumann",
                                            "neumann,degree=3,damping=0.9"};
  return all;
}

template <class T>
report solved_by_polynomial(const csr_matrix<T>& A, const std::vector<T>& b, std::vector<T>& x,
                            const linear_solver_options& options) {
  x.assign(b.size(), 0);
  linear_solver<T> solver(A, options);
  return solver.solve(b, x);
}

}  // namespace

TEMPLATE_TEST_CASE("polynomials: model problems of every size", "[linear][polynomial]", float, double) {
  using T = TestType;
  const double rtol = sizeof(T) == 4 ? 1e-4 : 1e-9;
  for (const std::string& executor : executors_with_steps())
    for (const std::string problem : {"poisson1d:1", "poisson1d:2", "poisson2d:3", "poisson2d:25", "poisson3d:10"}) {
      const csr_matrix<T> A = whilst::make_gallery<T>(problem).matrix;
      const std::vector<T> b = random_vector<T>(A.rows(), 5);
      for (const std::string& M : polynomials()) {
        INFO(executor << ", " << problem << ", " << M);
        std::vector<T> x(b.size(), 0);
        linear_solver<T> solver(A, {.preconditioner = M, .rtol = rtol, .executor = executor});
        const report told = solver.solve(b, x);
        CHECK(told.reason() == reason::converged_rtol);
        CHECK(true_residual(A, b, x) <= 1.01 * rtol);
        CHECK(told.preconditioner() == M);
        CHECK(told.preconditioner_choice().find(M.substr(0, 7)) == 0);
        const report again = solver.solve(b, x);
        CHECK(again.converged());
        CHECK(again.iterations() == 0);
      }
    }
}

TEST_CASE("chebyshev: iterations fall as the degree grows", "[linear][polynomial]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:60").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  std::vector<double> x;
  for (const std::string& executor : executors_with_steps()) {
    const auto iterations = [&](const std::string& M) {
      const report told = solved_by_polynomial(A, b, x, {.preconditioner = M, .executor = executor});
      CHECK(told.converged());
      return static_cast<double>(told.iterations());
    };
    const double by_jacobi = iterations("jacobi");
    // By the degree + 1, as the roots of condition numbers; somewhat less, since the interval's end is a guess.
    for (const int degree : {1, 2, 4, 6})
      CHECK(iterations("chebyshev,degree=" + std::to_string(degree)) <= 1.4 * by_jacobi / (degree + 1));
    CHECK(iterations("neumann") <= by_jacobi);
  }
}

TEST_CASE("polynomials: methods, formats, a null space, wide offsets", "[linear][polynomial]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:14").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  std::vector<double> x;
  for (const std::string& executor : executors_with_steps()) {
    const auto check = [&](const csr_matrix<double>& of, const linear_solver_options& options) {
      const report told = solved_by_polynomial(of, b, x, options);
      INFO(options.method << ", " << executor << ", " << options.format << ", " << options.preconditioner << ": "
                          << name(told.reason()));
      CHECK(told.converged());
      if (options.null_space == "none") CHECK(true_residual(of, b, x) <= 1.01e-8);
    };
    for (const std::string M : {"chebyshev", "neumann"}) {
      for (const std::string& method : methods_on(executor))
        check(A, {.method = method, .preconditioner = M, .executor = executor});
      check(A, {.method = "auto", .preconditioner = M, .executor = executor});
      check(A, {.method = "chebyshev", .preconditioner = M, .executor = executor});
      for (const std::string format : {"sell", "ell", "balanced"}) {
        check(A, {.preconditioner = M, .format = format, .executor = executor});
        check(A, {.method = "flexible-cg", .preconditioner = M, .format = format, .executor = executor});
      }
      std::vector<std::int64_t> wide(A.row_offsets_32().begin(), A.row_offsets_32().end());
      check(
          csr_matrix<double>::adopt(A.rows(), A.columns(), wide, {A.column_indices().begin(), A.column_indices().end()},
                                    {A.values().begin(), A.values().end()}),
          {.preconditioner = M, .executor = executor});
      // Without boundary values: each row sums to 0.
      std::vector<double> entries(A.values().begin(), A.values().end());
      for (index_type i = 0; i < A.rows(); ++i) {
        double sum = 0;
        std::size_t diagonal = 0;
        for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1));
             ++k) {
          if (A.column_indices()[k] == i) diagonal = k;
          sum += A.values()[k];
        }
        entries[diagonal] -= sum;
      }
      check({A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), entries},
            {.preconditioner = M, .null_space = "constant", .executor = executor});
    }
  }
}

TEST_CASE("polynomials of an operator that has products alone", "[linear][polynomial]") {
  const int n = 200;
  const auto apply = [](whilst::stream_handle, index_type rows, const double* x, double* y) {
    for (index_type i = 0; i < rows; ++i) y[i] = 2.1 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < rows - 1 ? x[i + 1] : 0);
  };
  const std::vector<double> b = random_vector<double>(n, 5);
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{i, 2.1}};
    if (i > 0) row.emplace_back(i - 1, -1);
    if (i < n - 1) row.emplace_back(i + 1, -1);
    t.row(row);
  }
  index_type by_none = 0;
  for (const std::string M : {"none", "chebyshev", "neumann"}) {
    linear_solver<double> solver(n, apply, {.preconditioner = M, .callback_memory = "host"});
    std::vector<double> x(b.size(), 0);
    const report told = solver.solve(b, x);
    INFO(M);
    CHECK(told.converged());
    CHECK(true_residual(t.matrix(), b, x) <= 1.01e-8);
    if (M == "none") by_none = told.iterations();
    if (M == "chebyshev") CHECK(4 * told.iterations() <= by_none + 8);
  }
  std::string message = "no exception";
  try {
    linear_solver<double>(n, apply, {.preconditioner = "block_jacobi", .callback_memory = "host"});
  } catch (const whilst::error& problem) {
    message = problem.what();
  }
  CHECK(message.find("preconditioner block_jacobi is made from a matrix") != std::string::npos);
}

TEMPLATE_TEST_CASE("polynomials: new values are noticed", "[linear][polynomial][sanitizer]", float, double) {
  using T = TestType;
  const double rtol = sizeof(T) == 4 ? 1e-4 : 1e-9;
  const csr_matrix<T> A = whilst::make_gallery<T>("poisson2d:12").matrix;
  const std::vector<T> b = random_vector<T>(A.rows(), 5), old(A.values().begin(), A.values().end());
  std::vector<T> other = old;
  for (index_type i = 0; i < A.rows(); ++i)
    for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1)); ++k)
      other[k] =
          static_cast<T>(-1000 * (other[k] + (A.column_indices()[k] == i ? T(i % 5) : T(0))));  // definite, negative
  const csr_matrix<T> of_other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), other);
  for (const std::string& executor : executors_with_steps())
    for (const std::string M : {"chebyshev", "neumann"}) {
      linear_solver<T> solver(A, {.preconditioner = M, .rtol = rtol, .executor = executor});
      std::vector<T> first(b.size(), 0), x(b.size(), 0), again(b.size(), 0);
      const index_type before = solver.solve(b, first).iterations();
      solver.update_values(other);
      const report told = solver.solve(b, x);
      INFO(executor << ", " << M << ": " << name(told.reason()) << ", " << told.iterations() << " after " << before);
      CHECK(told.converged());
      CHECK(told.iterations() <= before + 2);
      CHECK(true_residual(of_other, b, x) <= 1.01 * rtol);
      solver.update_values(old);
      solver.solve(b, again);
      CHECK(again == first);  // to the bit
    }
}

TEST_CASE("polynomials: hostile matrices end with a reason", "[linear][polynomial]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto ends = [](const std::vector<std::vector<std::pair<int, double>>>& rows, const std::string& M,
                       const std::string& executor) {
    triplets<double> t(static_cast<index_type>(rows.size()));
    for (const auto& row : rows) t.row(row);
    const std::vector<double> b(rows.size(), 1);
    std::vector<double> x;
    const report told =
        solved_by_polynomial(t.matrix(), b, x, {.preconditioner = M, .max_iterations = 50, .executor = executor});
    INFO(M << ", " << executor << ": " << name(told.reason()));
    CHECK(told.reason() != reason::running);
    if (told.converged() && !rows.empty()) CHECK(true_residual(t.matrix(), b, x) <= 1.01e-8);
    return told.reason();
  };
  for (const std::string& executor : executors_with_steps())
    for (const std::string& M : polynomials()) {
      CHECK(ends({}, M, executor) != reason::running);
      CHECK(converged(ends({{{0, -3}}}, M, executor)));
      CHECK(ends({{{0, nan}, {1, 1}}, {{0, 1}, {1, 2}}}, M, executor) == reason::nan_or_infinity);
      CHECK(!converged(ends({{{0, 1}}, {}, {{2, 1}}}, M, executor)));
      CHECK(!converged(ends({{{0, 0}}, {{1, 0}}}, M, executor)));
      CHECK(converged(ends({{{0, 1e-150}}, {{1, 3e-150}}}, M, executor)));
      ends({{{0, 1}, {1, 4}}, {{0, 4}, {1, 1}}, {{2, 1}}}, M, executor);
    }
  // A negative Ritz value, or (r, M r) below 0 on the way to it.
  for (const std::string& executor : executors_with_steps()) {
    const reason why = ends({{{0, 1}, {1, 4}}, {{0, 4}, {1, 3}}, {{2, 1}}}, "chebyshev", executor);
    CHECK((why == reason::indefinite_operator || why == reason::indefinite_preconditioner));
  }
}

TEST_CASE("polynomials: what does not go is refused", "[linear][polynomial]") {
  const auto message = [](const linear_solver_options& options) -> std::string {
    try {
      linear_solver<double> solver(whilst::make_gallery<double>("poisson2d:3").matrix, options);
    } catch (const whilst::error& problem) {
      return problem.what();
    }
    return "no exception";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(message({.preconditioner = "chebyshev,degree=0"}), "degree is 0 of preconditioner chebyshev. Use 1 to 32");
  has(message({.preconditioner = "neumann,degree=33"}), "degree is 33 of preconditioner neumann. Use 1 to 32");
  has(message({.preconditioner = "chebyshev,ratio=1"}), "ratio is 1");
  has(message({.preconditioner = "chebyshev,ratio=nan"}), "ratio is ");
  has(message({.preconditioner = "neumann,damping=-1"}), "damping is -1");
  has(message({.preconditioner = "neumann,lanczos_steps=65"}), "lanczos_steps is 65");
  has(message({.preconditioner = "chebyshev,damping=1"}), "Use some of degree, ratio, lanczos_steps");
  has(message({.method = "cgls", .preconditioner = "chebyshev"}), "wants one for A'A");
  has(message({.preconditioner = "neumann", .scaling = "symmetric"}), "changes the matrix that preconditioner neumann");
}

}  // namespace whilst_test
