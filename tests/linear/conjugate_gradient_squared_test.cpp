// CGS: what the tests of all methods cannot see.
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

/// Convection and diffusion on a line, with a diagonal that varies.
csr_matrix<double> varied_line(int n) {
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    const double diagonal = 3 + i % 5;
    if (i == 0) {
      t.row({{0, diagonal}, {1, -1}});
    } else if (i == n - 1) {
      t.row({{n - 2, -2}, {n - 1, diagonal}});
    } else {
      t.row({{i - 1, -2}, {i, diagonal}, {i + 1, -1}});
    }
  }
  return t.matrix();
}

/// x after k iterations from zero, as the paper has it, for A M y = b and x = M y.
Eigen::VectorXd after(int k, const Eigen::MatrixXd& A, const Eigen::MatrixXd& M, const Eigen::VectorXd& b) {
  const Eigen::MatrixXd B = A * M;
  const Eigen::VectorXd r0 = b, zero = Eigen::VectorXd::Zero(b.size());
  Eigen::VectorXd y = zero, r = b, p = zero, q = zero;
  double rho_before = 1;
  for (int j = 0; j < k; ++j) {
    const double rho = r0.dot(r), beta = rho / rho_before;
    const Eigen::VectorXd u = r + beta * q;
    p = u + beta * (q + beta * p);
    const Eigen::VectorXd v = B * p;
    const double alpha = rho / r0.dot(v);
    q = u - alpha * v;
    y = y + alpha * (u + q);
    r = r - alpha * (B * (u + q));
    rho_before = rho;
  }
  return M * y;
}

}  // namespace

TEST_CASE("iterates of cgs are those of the paper", "[linear][cgs]") {
  const auto A = varied_line(50);
  const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
  const std::vector<double> b = random_vector<double>(50, 4);
  for (const char* preconditioner : {"none", "jacobi"}) {
    Eigen::MatrixXd M = Eigen::MatrixXd::Identity(50, 50);
    if (preconditioner == std::string("jacobi")) M = dense.diagonal().cwiseInverse().asDiagonal();
    for (const std::string& executor : executors_with_steps())
      for (int k = 1; k <= 10; ++k) {
        INFO(executor << ", " << preconditioner << ", k = " << k);
        std::vector<double> x(50, 0.0);
        const report r = linear_solver<double>(A, {.method = "cgs",
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

TEMPLATE_TEST_CASE("cgs solves unsymmetric systems", "[linear][cgs]", float, double) {
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  // Rounding errors are as large as residuals on the way are: in float, larger systems are beyond the method.
  const bool is_float = sizeof(TestType) == 4;
  const auto poisson = whilst::make_gallery<TestType>(is_float ? "poisson2d:10" : "poisson2d:32").matrix;
  for (const auto& A : {convection_diffusion<TestType>(is_float ? 10 : 400), poisson}) {
    const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
    for (const std::string& executor : executors_with_steps())
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", " << preconditioner << ", " << A.rows() << " rows");
        linear_solver<TestType> solver(
            A, {.method = "cgs", .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
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

TEST_CASE("how cgs ends where it must fail", "[linear][cgs][sanitizer]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    // A rotation by a quarter: (r0, A r0) = 0.
    triplets<double> t(2);
    t.row({{1, 1}});
    t.row({{0, -1}});
    std::vector<double> x(2, 0.0);
    const report stuck = linear_solver<double>(t.matrix(), {.method = "cgs", .executor = executor}).solve({1, 0}, x);
    CHECK(stuck.reason() == reason::breakdown);
    CHECK((x == std::vector<double>{0, 0}));
    // diag(1, 0): b = (1, 0) is in its range, b = (0, 1) is orthogonal to it.
    triplets<double> of_rank_one(2);
    of_rank_one.row({{0, 1}});
    of_rank_one.row({{1, 0}});
    linear_solver<double> singular(of_rank_one.matrix(), {.method = "cgs", .executor = executor});
    CHECK(singular.solve({1, 0}, x).converged());
    CHECK((x == std::vector<double>{1, 0}));
    x = {0, 0};
    CHECK(singular.solve({0, 1}, x).reason() == reason::breakdown);
    CHECK((x == std::vector<double>{0, 0}));
    CHECK_FALSE(singular.solve({1, 1}, x).converged());
    for (const double value : x) CHECK(std::isfinite(value));

    if (executor != "host") continue;
    // NaN, or numbers whose squares overflow, from the first or the second product of an iteration.
    const auto A = convection_diffusion<double>(6);
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), 1e300})
      for (const int from : {1, 2, 3, 4}) {
        INFO(bad << " from product " << from);
        int calls = 0;
        const auto spoil = [&](whilst::stream_handle, index_type n, const double* r, double* z) {
          ++calls;
          for (index_type i = 0; i < n; ++i) z[i] = calls >= from ? bad * r[i] : r[i];
        };
        const std::vector<double> ones(6, 1.0);
        std::vector<double> y(6, 0.0);
        const report r = linear_solver<double>(A, spoil, {.method = "cgs", .executor = "host"}).solve(ones, y);
        // An M that changes between iterations is no harm: the residual remains the true one.
        if (!(bad == 1e300 && from % 2 == 1)) CHECK(r.reason() == reason::nan_or_infinity);
        CHECK(relative_residual(A, ones, y) <= (r.converged() ? 1.01e-8 : 1 + 1e-12));
      }
  }
}

}  // namespace whilst_test
