// Flexible conjugate gradients: what the tests of all methods cannot see.
#include <cmath>
#include <functional>
#include <limits>

#include <Eigen/Dense>
#include <Eigen/IterativeLinearSolvers>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// Tridiagonal and symmetric, with a diagonal that varies: indefinite if `shift` is large.
csr_matrix<double> varied_line(int n, double shift) {
  triplets<double> t(n);
  const auto diagonal = [&](int i) { return 2.5 + i % 7 - shift; };
  for (int i = 0; i < n; ++i) {
    if (i == 0) {
      t.row({{0, diagonal(0)}, {1, -1}});
    } else if (i == n - 1) {
      t.row({{n - 2, -1}, {n - 1, diagonal(i)}});
    } else {
      t.row({{i - 1, -1}, {i, diagonal(i)}, {i + 1, -1}});
    }
  }
  return t.matrix();
}

/// x after k iterations from zero, as the paper has FCG(1); M_of(i) is the preconditioner of iteration i.
Eigen::VectorXd after(int k, const Eigen::MatrixXd& A, const std::function<Eigen::MatrixXd(int)>& M_of,
                      const Eigen::VectorXd& b) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(b.size()), r = b, d, Ad;
  for (int i = 0; i < k; ++i) {
    const Eigen::VectorXd w = M_of(i) * r;
    d = i == 0 ? w : Eigen::VectorXd(w - w.dot(Ad) / d.dot(Ad) * d);
    Ad = A * d;
    const double alpha = d.dot(r) / d.dot(Ad);
    x += alpha * d;
    r -= alpha * Ad;
  }
  return x;
}

using apply_M = std::function<void(whilst::stream_handle, index_type, const double*, double*)>;

}  // namespace

TEST_CASE("iterates of flexible-cg are those of the paper", "[linear][flexible-cg]") {
  const auto A = varied_line(50, 0);
  const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
  const std::vector<double> b = random_vector<double>(50, 4);
  const auto check = [&](linear_solver<double>& solver, int k, const std::function<Eigen::MatrixXd(int)>& M_of) {
    std::vector<double> x(50, 0.0);
    const report r = solver.solve(b, x);
    CHECK(r.reason() == reason::iteration_limit);
    CHECK(r.iterations() == k);
    const Eigen::VectorXd expected = after(k, dense, M_of, to_eigen(b));
    CHECK((to_eigen(x) - expected).norm() <= 1e-10 * expected.norm());
    const double norm = (to_eigen(b) - dense * expected).norm(), margin = 1e-12 * to_eigen(b).norm();
    CHECK(r.residual_norm() == Approx(norm).epsilon(1e-8).margin(margin));
    REQUIRE(r.history().size() == static_cast<std::size_t>(k + 1));
    CHECK(r.history().back().residual_norm == Approx(norm).epsilon(1e-8).margin(margin));
  };
  for (int k = 1; k <= 10; ++k) {
    linear_solver_options options{.method = "flexible-cg", .rtol = 0, .max_iterations = k, .keep_best = false};
    for (const std::string& executor : executors_with_steps())
      for (const bool jacobi : {false, true}) {
        INFO(executor << (jacobi ? ", jacobi" : ", none") << ", k = " << k);
        options.executor = executor;
        options.preconditioner = jacobi ? "jacobi" : "none";
        linear_solver<double> solver(A, options);
        const Eigen::MatrixXd of_all =
            jacobi ? Eigen::MatrixXd(dense.diagonal().cwiseInverse().asDiagonal()) : Eigen::MatrixXd::Identity(50, 50);
        check(solver, k, [&](int) { return of_all; });
      }
    // A preconditioner of its own for every iteration.
    INFO("changing, k = " << k);
    const auto entry = [](int iteration, int i) { return 1.0 / (3 + (7 * iteration + 5 * i) % 11); };
    int calls = 0;
    const apply_M M = [&](whilst::stream_handle, index_type n, const double* r, double* z) {
      for (int i = 0; i < static_cast<int>(n); ++i) z[i] = entry(calls, i) * r[i];
      ++calls;
    };
    options.executor = "host";
    options.preconditioner = "none";
    linear_solver<double> solver(A, M, options);
    calls = 0;
    check(solver, k, [&](int iteration) {
      Eigen::VectorXd diagonal(50);
      for (int i = 0; i < 50; ++i) diagonal[i] = entry(iteration, i);
      return Eigen::MatrixXd(diagonal.asDiagonal());
    });
  }
}

TEMPLATE_TEST_CASE("flexible-cg solves what cg solves", "[linear][flexible-cg]", float, double) {
  const double epsilon = static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const char* name : {"poisson2d:40", "anisotropic2d:40", "elasticity2d:10"}) {
    const auto problem = whilst::make_gallery<TestType>(name);
    const auto& A = problem.matrix;
    const Eigen::SparseMatrix<double> columns = to_eigen(A);
    for (const bool jacobi : {false, true}) {
      const double rtol = 1e5 * epsilon;
      int of_eigen = 0;
      if (jacobi) {
        Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper> cg(columns);
        cg.setTolerance(rtol);
        const Eigen::VectorXd solved = cg.solve(to_eigen(problem.rhs));
        of_eigen = static_cast<int>(cg.iterations());
      } else {
        Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper,
                                 Eigen::IdentityPreconditioner>
            cg(columns);
        cg.setTolerance(rtol);
        const Eigen::VectorXd solved = cg.solve(to_eigen(problem.rhs));
        of_eigen = static_cast<int>(cg.iterations());
      }
      for (const std::string& executor : executors_with_steps()) {
        linear_solver<TestType> solver(A, {.method = "flexible-cg",
                                           .preconditioner = jacobi ? "jacobi" : "none",
                                           .rtol = rtol,
                                           .executor = executor});
        std::vector<TestType> x(problem.rhs.size(), 0);
        const report r = solver.solve(problem.rhs, x);
        INFO(name << ", " << executor << ", " << jacobi << ": " << r.iterations() << " iterations, Eigen's cg "
                  << of_eigen);
        CHECK(r.converged());
        CHECK(relative_residual(A, problem.rhs, x) <= 1.01 * rtol);
        // Vectors of float lose some orthogonality; the oracle works in double.
        const double more = sizeof(TestType) == 4 ? 1.5 : 1.1;
        CHECK(static_cast<double>(r.iterations()) <= more * of_eigen + 1);
        CHECK(static_cast<double>(r.iterations()) >= 0.9 * of_eigen - 1);
        // No direction is left from one solve to the next.
        std::vector<TestType> again(x.size(), 0);
        CHECK(solver.solve(problem.rhs, again).iterations() == r.iterations());
        CHECK((again == x));
        // A warm start is done at once.
        const std::vector<TestType> found = x;
        solver.set_tolerances(2 * rtol, 0);
        CHECK(solver.solve(problem.rhs, x).iterations() == 0);
        CHECK((x == found));
      }
    }
  }
}

TEST_CASE("flexible-cg bears a preconditioner that changes", "[linear][flexible-cg]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:40");
  const Eigen::SparseMatrix<double> A = to_eigen(problem.matrix);
  // A few steps of conjugate gradients, whose number differs and which are not linear in r.
  int calls = 0;
  const apply_M inner_solve = [&](whilst::stream_handle, index_type n, const double* r, double* z) {
    Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper> cg(A);
    cg.setMaxIterations(2 + calls++ % 3);
    Eigen::Map<Eigen::VectorXd>(z, n) = cg.solve(Eigen::Map<const Eigen::VectorXd>(r, n));
  };
  const auto iterations_of = [&](const char* method) {
    calls = 0;
    std::vector<double> x(problem.rhs.size(), 0.0);
    const report r = linear_solver<double>(problem.matrix, inner_solve,
                                           {.method = method, .rtol = 1e-10, .max_iterations = 500, .executor = "host"})
                         .solve(problem.rhs, x);
    CHECK((!r.converged() || relative_residual(problem.matrix, problem.rhs, x) <= 1.01e-10));
    return r.converged() ? static_cast<int>(r.iterations()) : 500;
  };
  const int flexible = iterations_of("flexible-cg"), plain = iterations_of("cg");
  INFO("flexible-cg " << flexible << ", cg " << plain);
  CHECK(flexible <= 200);
  CHECK(plain >= 2 * flexible);
}

TEST_CASE("how flexible-cg ends where it must fail", "[linear][flexible-cg][sanitizer]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.method = "flexible-cg", .executor = executor};
    const std::vector<double> b = random_vector<double>(50, 4);
    std::vector<double> x(50, 0.0);
    const auto indefinite = varied_line(50, 4.3);
    CHECK(linear_solver<double>(indefinite, options).solve(b, x).reason() == reason::indefinite_operator);
    for (const double value : x) CHECK(std::isfinite(value));
    CHECK(relative_residual(indefinite, b, x) <= 1);
    // diag(1, 0): b = (1, 0) is in its range, b = (0, 1) is orthogonal to it.
    triplets<double> of_rank_one(2);
    of_rank_one.row({{0, 1}});
    of_rank_one.row({{1, 0}});
    linear_solver<double> singular(of_rank_one.matrix(), options);
    std::vector<double> y(2, 0.0);
    CHECK(singular.solve({1, 0}, y).converged());
    CHECK((y == std::vector<double>{1, 0}));
    y = {0, 0};
    CHECK(singular.solve({0, 1}, y).reason() == reason::indefinite_operator);
    CHECK((y == std::vector<double>{0, 0}));
    // A solve that failed leaves no direction to the next.
    CHECK(singular.solve({1, 0}, y).converged());
    y = {0, 0};
    CHECK(singular.solve({std::nan(""), 0}, y).reason() == reason::nan_or_infinity);
    CHECK(singular.solve({1, 0}, y).converged());

    if (executor != "host") continue;
    const auto A = varied_line(6, 0);
    const auto end_with = [&](double factor) {
      const auto scale = [factor](whilst::stream_handle, index_type n, const double* r, double* z) {
        for (index_type i = 0; i < n; ++i) z[i] = factor * r[i];
      };
      std::vector<double> last(6, 0.0);
      const report r = linear_solver<double>(A, scale, options).solve(std::vector<double>(6, 1.0), last);
      CHECK((last == std::vector<double>(6, 0.0)));
      return r.reason();
    };
    CHECK(end_with(-1) == reason::indefinite_preconditioner);
    CHECK(end_with(0) == reason::indefinite_preconditioner);
    CHECK(end_with(std::nan("")) == reason::nan_or_infinity);
    CHECK(end_with(1e300) == reason::nan_or_infinity);
    // alpha would be 1e40, which float does not have.
    const auto tiny = [](whilst::stream_handle, index_type n, const float* r, float* z) {
      for (index_type i = 0; i < n; ++i) z[i] = 1e-40f * r[i];
    };
    const auto of_float = whilst::make_gallery<float>("poisson1d:6").matrix;
    std::vector<float> last(6, 0.0f);
    CHECK(linear_solver<float>(of_float, tiny, options).solve(std::vector<float>(6, 1.0f), last).reason() ==
          reason::breakdown);
    CHECK((last == std::vector<float>(6, 0.0f)));
  }
}

}  // namespace whilst_test
