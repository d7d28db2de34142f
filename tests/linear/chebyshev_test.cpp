// Chebyshev's and Richardson's iterations: what the tests of all methods cannot see.
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

/// Tridiagonal, symmetric and diagonally dominant, with a diagonal that varies; times a factor.
template <class T>
csr_matrix<T> varied_line(int n, double factor = 1) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    const double diagonal = factor * (2.5 + i % 7);
    if (i == 0) {
      t.row({{0, diagonal}, {1, -factor}});
    } else if (i == n - 1) {
      t.row({{n - 2, -factor}, {i, diagonal}});
    } else {
      t.row({{i - 1, -factor}, {i, diagonal}, {i + 1, -factor}});
    }
  }
  return t.matrix();
}

struct bounds {
  double least, greatest;
};
/// Of M A, for M = D^-1 or the identity: the eigenvalues of D^-1/2 A D^-1/2.
bounds eigenvalues(const Eigen::MatrixXd& A, const std::string& preconditioner) {
  Eigen::MatrixXd scaled = A;
  if (preconditioner == "jacobi") {
    const Eigen::VectorXd root = A.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse();
    scaled = root.asDiagonal() * A * root.asDiagonal();
  }
  const Eigen::VectorXd all =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(scaled, Eigen::EigenvaluesOnly).eigenvalues();
  return {all.minCoeff(), all.maxCoeff()};
}

/// x after k iterations from zero. For chebyshev by the polynomial that defines it: the error is T_k((theta - M A) /
/// delta) / T_k(theta / delta) times the first one, and T_{k+1} = 2 t T_k - T_{k-1}.
Eigen::VectorXd after(const std::string& method, int k, const Eigen::MatrixXd& A, const Eigen::VectorXd& M,
                      const Eigen::VectorXd& b, const bounds& of) {
  const double theta = (of.greatest + of.least) / 2, delta = (of.greatest - of.least) / 2;
  const Eigen::VectorXd exact = A.ldlt().solve(b);
  const Eigen::MatrixXd MA = M.asDiagonal() * A;
  if (method == "richardson") {
    Eigen::VectorXd error = exact;
    for (int j = 0; j < k; ++j) error -= MA * error / theta;
    return exact - error;
  }
  Eigen::VectorXd last = exact, now = (theta * exact - MA * exact) / delta;
  double last_at = 1, now_at = theta / delta;
  for (int j = 1; j < k; ++j) {
    const Eigen::VectorXd next = 2 * (theta * now - MA * now) / delta - last;
    const double next_at = 2 * theta / delta * now_at - last_at;
    last = now, now = next, last_at = now_at, now_at = next_at;
  }
  return exact - now / now_at;
}

}  // namespace

TEST_CASE("iterates of chebyshev and richardson are their polynomials", "[linear][chebyshev]") {
  for (const double factor : {1.0, -1.0, 3e5}) {
    const auto A = varied_line<double>(50, factor);
    const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
    const std::vector<double> b = random_vector<double>(50, 4);
    for (const char* preconditioner : {"none", "jacobi"}) {
      const bounds of = eigenvalues(dense, preconditioner);
      const bool negative = of.least < 0;
      Eigen::VectorXd M = Eigen::VectorXd::Ones(50);
      if (preconditioner == std::string("jacobi")) M = dense.diagonal().cwiseInverse();
      // With jacobi, M A is positive definite though A is not.
      const bounds of_MA = negative && preconditioner == std::string("jacobi") ? bounds{-of.greatest, -of.least} : of;
      for (const char* method : {"chebyshev", "richardson"})
        for (const std::string& executor : executors_with_steps())
          for (int k = 1; k <= 10; ++k) {
            INFO(method << ", " << executor << ", " << preconditioner << ", A times " << factor << ", k = " << k);
            std::vector<double> x(50, 0.0);
            const report r = linear_solver<double>(A, {.method = method,
                                                       .preconditioner = preconditioner,
                                                       .rtol = 0,
                                                       .max_iterations = k,
                                                       .least_eigenvalue = of_MA.least,
                                                       .greatest_eigenvalue = of_MA.greatest,
                                                       .keep_best = false,
                                                       .executor = executor})
                                 .solve(b, x);
            CHECK(r.reason() == reason::iteration_limit);
            CHECK(r.iterations() == k);
            const Eigen::VectorXd expected = after(method, k, dense, M, to_eigen(b), of_MA);
            CHECK((to_eigen(x) - expected).norm() <= 1e-10 * expected.norm());
            const double norm = (to_eigen(b) - dense * expected).norm();
            REQUIRE(r.history().size() == static_cast<std::size_t>(k + 1));
            CHECK(r.history().back().residual_norm == Approx(norm).epsilon(1e-8));
          }
    }
  }
}

TEMPLATE_TEST_CASE("chebyshev and richardson solve with bounds that they find", "[linear][chebyshev][sanitizer]", float,
                   double) {
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const double factor : {1.0, -1.0, 1e-20, 1e20})
    for (const int n : {1, 2, 5, 300, 3000}) {
      const auto A = n == 1 ? [&] {
        triplets<TestType> t(1);
        t.row({{0, 2 * factor}});
        return t.matrix();
      }()
                            : varied_line<TestType>(n, factor);
      const std::vector<TestType> b = random_vector<TestType>(n, 8);
      for (const char* method : {"chebyshev", "richardson"})
        for (const std::string& executor : executors_with_steps())
          for (const char* preconditioner : {"none", "jacobi"}) {
            INFO(method << ", " << executor << ", " << preconditioner << ", n = " << n << ", A times " << factor);
            linear_solver<TestType> solver(
                A, {.method = method, .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
            std::vector<TestType> x(b.size(), 0);
            const report r = solver.solve(b, x);
            CHECK(r.converged());
            CHECK(relative_residual(A, b, x) <= 1.01 * rtol);
            // The condition is below 14: (sqrt(14) - 1) / (sqrt(14) + 1) and 13 / 15 to the power of k.
            CHECK(r.iterations() <= (method == std::string("chebyshev") ? 80 : 300));
            const std::vector<TestType> found = x;
            solver.set_tolerances(2 * rtol, 0);
            CHECK(solver.solve(b, x).iterations() == 0);
            CHECK((x == found));
          }
    }
}

TEST_CASE("how chebyshev and richardson end where they must fail", "[linear][chebyshev]") {
  for (const char* method : {"chebyshev", "richardson"})
    for (const std::string& executor : executors_with_steps()) {
      INFO(method << ", " << executor);
      // diag(1, -2, 3, -4, ...).
      triplets<double> t(20);
      for (int i = 0; i < 20; ++i) t.row({{i, i % 2 ? -i - 1 : i + 1}});
      std::vector<double> x(20, 0.0);
      const std::vector<double> b = random_vector<double>(20, 3);
      const whilst::linear_solver_options plain{.method = method, .executor = executor};
      CHECK(linear_solver<double>(t.matrix(), plain).solve(b, x).reason() == reason::indefinite_operator);
      CHECK((x == std::vector<double>(20, 0.0)));
      // Bounds that leave out most of the spectrum.
      const auto A = varied_line<double>(50);
      x.resize(50);
      const std::vector<double> c = random_vector<double>(50, 3);
      whilst::linear_solver_options options = plain;
      options.least_eigenvalue = 0.1;
      options.greatest_eigenvalue = 0.5;
      const report diverged = linear_solver<double>(A, options).solve(c, x);
      CHECK(diverged.reason() == reason::divergence);
      CHECK((x == std::vector<double>(50, 0.0)));
      // A matrix that is not finite.
      triplets<double> bad(2);
      bad.row({{0, std::nan("")}});
      bad.row({{1, 1}});
      std::vector<double> y(2, 0.0);
      CHECK(linear_solver<double>(bad.matrix(), plain).solve({1, 1}, y).reason() == reason::nan_or_infinity);
      if (executor != "host") continue;
      const auto end_with = [&](double factor) {
        const auto scale = [factor](whilst::stream_handle, index_type n, const double* r, double* z) {
          for (index_type i = 0; i < n; ++i) z[i] = factor * r[i];
        };
        std::vector<double> z(50, 0.0);
        const report r = linear_solver<double>(A, scale, {.method = method, .executor = "host"}).solve(c, z);
        if (!r.converged()) CHECK((z == std::vector<double>(50, 0.0)));
        return r.reason();
      };
      CHECK(end_with(0.25) == reason::converged_rtol);
      CHECK(end_with(-1) == reason::indefinite_preconditioner);
      CHECK_FALSE(converged(end_with(0)));
      CHECK(end_with(std::nan("")) == reason::nan_or_infinity);
    }
  const auto A = varied_line<double>(5);
  const auto refused = [&](double least, double greatest, int steps) {
    linear_solver<double>(
        A, {.method = "chebyshev", .least_eigenvalue = least, .greatest_eigenvalue = greatest, .lanczos_steps = steps});
  };
  CHECK_THROWS_WITH(refused(2, 1, 20), contains("least_eigenvalue is 2"));
  CHECK_THROWS_WITH(refused(-1, 1, 20), contains("both of one sign"));
  CHECK_THROWS_WITH(refused(0, INFINITY, 20), contains("greatest_eigenvalue is inf"));
  CHECK_THROWS_WITH(refused(0, 0, 65), contains("lanczos_steps is 65"));
}

TEST_CASE("with an operator in parts chebyshev does the same", "[linear][chebyshev]") {
  const auto A = varied_line<double>(200);
  const auto matrix = to_eigen(A);
  const std::vector<double> b = random_vector<double>(200, 5);
  const auto times = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    Eigen::Map<Eigen::VectorXd>(y, n) = matrix * Eigen::Map<const Eigen::VectorXd>(x, n);
  };
  for (const char* method : {"chebyshev", "richardson"}) {
    const whilst::linear_solver_options options{.method = method, .rtol = 1e-10, .executor = "host"};
    std::vector<double> x(200, 0.0), y(200, 0.0);
    const report one = linear_solver<double>(A, options).solve(b, x);
    const report other = linear_solver<double>(200, times, options).solve(b, y);
    CHECK(other.converged());
    CHECK(std::abs(one.iterations() - other.iterations()) <= 1);
    CHECK((to_eigen(x) - to_eigen(y)).norm() <= 1e-8 * to_eigen(x).norm());
  }
}

}  // namespace whilst_test
