// Conjugate residuals: what the tests of all methods cannot see.
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::reason;
using whilst::report;

namespace {

/// Tridiagonal and symmetric, with a diagonal that varies: indefinite if `shift` is large.
template <class T>
csr_matrix<T> varied_line(int n, double shift) {
  triplets<T> t(n);
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

/// x after k iterations from zero, as the book has it: with residuals in M's inner product.
Eigen::VectorXd after(int k, const Eigen::MatrixXd& A, const Eigen::MatrixXd& M, const Eigen::VectorXd& b) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(b.size());
  Eigen::VectorXd r = M * b, p = r;
  for (int j = 0; j < k; ++j) {
    const Eigen::VectorXd Ap = A * p;
    const double rAr = r.dot(A * r);
    const double alpha = rAr / Ap.dot(M * Ap);
    x = x + alpha * p;
    r = M * (b - A * x);
    const double beta = r.dot(A * r) / rAr;
    p = r + beta * p;
  }
  return x;
}

}  // namespace

TEST_CASE("iterates of cr are those of the book", "[linear][cr]") {
  for (const double shift : {0.0, 4.3}) {
    const auto A = varied_line<double>(50, shift);
    const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(dense, Eigen::EigenvaluesOnly);
    REQUIRE((spectrum.eigenvalues().minCoeff() > 0) == (shift == 0));
    const std::vector<double> b = random_vector<double>(50, 4);
    for (const char* preconditioner : {"none", "jacobi"}) {
      Eigen::MatrixXd M = Eigen::MatrixXd::Identity(50, 50);
      if (preconditioner == std::string("jacobi")) M = dense.diagonal().cwiseAbs().cwiseInverse().asDiagonal();
      for (const std::string& executor : executors_with_steps())
        for (int k = 1; k <= 10; ++k) {
          INFO(executor << ", " << preconditioner << ", shift " << shift << ", k = " << k);
          std::vector<double> x(50, 0.0);
          const report r = linear_solver<double>(A, {.method = "cr",
                                                     .preconditioner = preconditioner,
                                                     .rtol = 0,
                                                     .max_iterations = k,
                                                     .keep_best = false,
                                                     .executor = executor})
                               .solve(b, x);
          CHECK(r.reason() == reason::iteration_limit);
          CHECK(r.iterations() == k);
          const Eigen::VectorXd expected = after(k, dense, M, to_eigen(b));
          CHECK((to_eigen(x) - expected).norm() <= 1e-10 * expected.norm());
          const double norm = (to_eigen(b) - dense * expected).norm();
          CHECK(r.residual_norm() == Approx(norm).epsilon(1e-8));
          REQUIRE(r.history().size() == static_cast<std::size_t>(k + 1));
          CHECK(r.history().back().residual_norm == Approx(norm).epsilon(1e-8));
        }
    }
  }
}

TEMPLATE_TEST_CASE("cr solves symmetric systems", "[linear][cr]", float, double) {
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  const auto poisson = whilst::make_gallery<TestType>("poisson2d:32").matrix;
  for (const auto& A : {poisson, varied_line<TestType>(300, 4.3)}) {
    const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
    for (const std::string& executor : executors_with_steps())
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", " << preconditioner << ", " << A.rows() << " rows");
        linear_solver<TestType> solver(
            A, {.method = "cr", .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
        std::vector<TestType> x(b.size(), 0);
        CHECK(solver.solve(b, x).converged());
        CHECK(relative_residual(A, b, x) <= 1.01 * rtol);
        // A warm start is done at once.
        const std::vector<TestType> found = x;
        solver.set_tolerances(2 * rtol, 0);
        CHECK(solver.solve(b, x).iterations() == 0);
        CHECK((x == found));
      }
  }
}

TEST_CASE("how cr ends where it must fail", "[linear][cr][sanitizer]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    // diag(1, -1) and b = (1, 1): (r, A r) = 0.
    triplets<double> t(2);
    t.row({{0, 1}});
    t.row({{1, -1}});
    std::vector<double> x(2, 0.0);
    const report stuck = linear_solver<double>(t.matrix(), {.method = "cr", .executor = executor}).solve({1, 1}, x);
    CHECK(stuck.reason() == reason::breakdown);
    CHECK((x == std::vector<double>{0, 0}));
    // diag(1, 0): b = (1, 0) is in its range, b = (0, 1) is orthogonal to it.
    triplets<double> of_rank_one(2);
    of_rank_one.row({{0, 1}});
    of_rank_one.row({{1, 0}});
    linear_solver<double> singular(of_rank_one.matrix(), {.method = "cr", .executor = executor});
    CHECK(singular.solve({1, 0}, x).converged());
    CHECK((x == std::vector<double>{1, 0}));
    x = {0, 0};
    CHECK(singular.solve({0, 1}, x).reason() == reason::breakdown);
    CHECK((x == std::vector<double>{0, 0}));
    CHECK_FALSE(singular.solve({1, 1}, x).converged());
    for (const double value : x) CHECK(std::isfinite(value));

    if (executor != "host") continue;
    const auto A = varied_line<double>(6, 0);
    const std::vector<double> b(6, 1.0);
    const auto end_with = [&](double factor) {
      const auto scale = [factor](whilst::stream_handle, index_type n, const double* r, double* z) {
        for (index_type i = 0; i < n; ++i) z[i] = factor * r[i];
      };
      std::vector<double> y(6, 0.0);
      const report r = linear_solver<double>(A, scale, {.method = "cr", .executor = "host"}).solve(b, y);
      CHECK((y == std::vector<double>(6, 0.0)));
      return r.reason();
    };
    CHECK(end_with(-1) == reason::indefinite_preconditioner);
    CHECK(end_with(0) == reason::breakdown);
    CHECK(end_with(std::nan("")) == reason::nan_or_infinity);
    // M keeps the first entry only: semidefinite.
    const auto project = [](whilst::stream_handle, index_type n, const double* r, double* z) {
      for (index_type i = 0; i < n; ++i) z[i] = i < 1 ? r[i] : 0;
    };
    std::vector<double> y(6, 0.0);
    const report few = linear_solver<double>(A, project, {.method = "cr", .executor = "host"}).solve(b, y);
    CHECK(few.reason() == reason::breakdown);
    for (const double value : y) CHECK(std::isfinite(value));
  }
}

}  // namespace whilst_test
