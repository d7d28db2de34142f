// Pipelined conjugate gradients: what the tests of all methods cannot see.
#include <cmath>
#include <limits>

#include <Eigen/Dense>

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

/// x after k iterations from zero, as the paper's algorithm 4 has it.
Eigen::VectorXd after(int k, const Eigen::MatrixXd& A, const Eigen::MatrixXd& M, const Eigen::VectorXd& b) {
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(b.size());
  Eigen::VectorXd x = zero, r = b, u = M * r, w = A * u, z = zero, q = zero, s = zero, p = zero;
  double gamma_before = 0, alpha = 0;
  for (int i = 0; i < k; ++i) {
    const double gamma = r.dot(u), delta = w.dot(u);
    const Eigen::VectorXd m = M * w, n = A * m;
    double beta = 0;
    if (i > 0) {
      beta = gamma / gamma_before;
      alpha = gamma / (delta - beta * gamma / alpha);
    } else {
      alpha = gamma / delta;
    }
    z = n + beta * z;
    q = m + beta * q;
    s = w + beta * s;
    p = u + beta * p;
    x = x + alpha * p;
    r = r - alpha * s;
    u = u - alpha * q;
    w = w - alpha * z;
    gamma_before = gamma;
  }
  return x;
}

/// By callbacks, which are in parts: without an M, and with the diagonal's inverse.
report solve_in_parts(const csr_matrix<double>& A, bool jacobi, const std::vector<double>& b, std::vector<double>& x,
                      const linear_solver_options& options) {
  const auto M = [&](whilst::stream_handle, index_type n, const double* r, double* z) {
    const Eigen::VectorXd diagonal = Eigen::MatrixXd(to_eigen(A)).diagonal();
    for (index_type i = 0; i < n; ++i) z[i] = jacobi ? r[i] / diagonal[static_cast<Eigen::Index>(i)] : r[i];
  };
  return linear_solver<double>(A, M, options).solve(b, x);
}

}  // namespace

TEST_CASE("iterates of pipelined-cg are those of the paper", "[linear][pipelined-cg]") {
  const auto A = varied_line(50, 0);
  const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
  const std::vector<double> b = random_vector<double>(50, 4);
  for (const bool jacobi : {false, true}) {
    Eigen::MatrixXd M = Eigen::MatrixXd::Identity(50, 50);
    if (jacobi) M = dense.diagonal().cwiseInverse().asDiagonal();
    for (const std::string& executor : executors_with_steps())
      for (int k = 1; k <= 20; ++k)  // beyond a renewal
        for (const bool in_parts : {false, true}) {
          if (in_parts && executor != "host") continue;
          INFO(executor << (jacobi ? ", jacobi" : ", none") << (in_parts ? ", in parts" : "") << ", k = " << k);
          const linear_solver_options options{.method = "pipelined-cg",
                                              .preconditioner = jacobi && !in_parts ? "jacobi" : "none",
                                              .rtol = 0,
                                              .max_iterations = k,
                                              .keep_best = false,
                                              .executor = executor};
          std::vector<double> x(50, 0.0);
          const report r =
              in_parts ? solve_in_parts(A, jacobi, b, x, options) : linear_solver<double>(A, options).solve(b, x);
          CHECK(r.reason() == reason::iteration_limit);
          CHECK(r.iterations() == k);
          const Eigen::VectorXd expected = after(k, dense, M, to_eigen(b));
          CHECK((to_eigen(x) - expected).norm() <= 1e-10 * expected.norm());
          const double norm = (to_eigen(b) - dense * expected).norm();
          CHECK(r.residual_norm() == Approx(norm).epsilon(1e-8).margin(1e-12 * to_eigen(b).norm()));
          REQUIRE(r.history().size() == static_cast<std::size_t>(k + 1));
          CHECK(r.history().back().residual_norm == Approx(norm).epsilon(1e-8).margin(1e-12 * to_eigen(b).norm()));
        }
  }
}

TEMPLATE_TEST_CASE("pipelined-cg solves what cg solves", "[linear][pipelined-cg]", float, double) {
  const double epsilon = static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const char* name : {"poisson2d:32", "anisotropic2d:40", "elasticity2d:16", "poisson1d:200"}) {
    const auto problem = whilst::make_gallery<TestType>(name);
    const auto& A = problem.matrix;
    for (const std::string& executor : executors_with_steps())
      for (const char* preconditioner : {"none", "jacobi"})
        for (const double rtol : {1e6 * epsilon, 1e5 * epsilon}) {
          linear_solver_options options{.preconditioner = preconditioner, .rtol = rtol, .executor = executor};
          std::vector<TestType> of_cg(problem.rhs.size(), 0), x = of_cg;
          const report plain = linear_solver<TestType>(A, options).solve(problem.rhs, of_cg);
          options.method = "pipelined-cg";
          linear_solver<TestType> solver(A, options);
          const report r = solver.solve(problem.rhs, x);
          INFO(name << ", " << executor << ", " << preconditioner << ", rtol " << rtol << ": " << r.iterations()
                    << " iterations, cg " << plain.iterations());
          CHECK(r.converged() == plain.converged());
          if (!r.converged()) {
            CHECK(r.reason() == reason::attainable_accuracy);
            continue;
          }
          CHECK(relative_residual(A, problem.rhs, x) <= 1.01 * rtol);
          // Restarts cost some where rounding is near.
          CHECK(r.iterations() <= 2 * plain.iterations());
        }
  }
}

TEST_CASE("how pipelined-cg ends where it must fail", "[linear][pipelined-cg][sanitizer]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.method = "pipelined-cg", .executor = executor};
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
  }
}

}  // namespace whilst_test
