// BiCGSTAB(l): what the tests of all methods cannot see.
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

/// The algorithm as published, of A times the preconditioner, from x = 0: x after each cycle. Its polynomial by
/// modified Gram-Schmidt.
std::vector<Eigen::VectorXd> textbook_bicgstabl(const Eigen::MatrixXd& A, const Eigen::MatrixXd& preconditioner,
                                                const Eigen::VectorXd& b, int l, int cycles) {
  const Eigen::MatrixXd K = A * preconditioner;
  const auto n = b.size();
  const Eigen::VectorXd shadow = b;
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  Eigen::MatrixXd r = Eigen::MatrixXd::Zero(n, l + 1), u = r;
  r.col(0) = b;
  double rho0 = 1, alpha = 0, omega = 1;
  std::vector<Eigen::VectorXd> iterates;
  while (static_cast<int>(iterates.size()) < cycles) {
    rho0 = -omega * rho0;
    for (int j = 0; j < l; ++j) {
      const double rho1 = r.col(j).dot(shadow), beta = alpha * rho1 / rho0;
      rho0 = rho1;
      for (int i = 0; i <= j; ++i) u.col(i) = r.col(i) - beta * u.col(i);
      u.col(j + 1) = K * u.col(j);
      alpha = rho0 / u.col(j + 1).dot(shadow);
      for (int i = 0; i <= j; ++i) r.col(i) -= alpha * u.col(i + 1);
      r.col(j + 1) = K * r.col(j);
      x += alpha * u.col(0);
    }
    Eigen::MatrixXd tau = Eigen::MatrixXd::Zero(l + 1, l + 1);
    Eigen::VectorXd sigma(l + 1), first(l + 1), gamma(l + 1), second(l + 1);
    Eigen::MatrixXd q = r;
    for (int j = 1; j <= l; ++j) {
      for (int i = 1; i < j; ++i) {
        tau(i, j) = q.col(j).dot(q.col(i)) / sigma(i);
        q.col(j) -= tau(i, j) * q.col(i);
      }
      sigma(j) = q.col(j).squaredNorm();
      first(j) = q.col(0).dot(q.col(j)) / sigma(j);
    }
    gamma(l) = omega = first(l);
    for (int j = l - 1; j >= 1; --j) {
      gamma(j) = first(j);
      for (int i = j + 1; i <= l; ++i) gamma(j) -= tau(j, i) * gamma(i);
    }
    for (int j = 1; j <= l; ++j) {
      x += gamma(j) * r.col(j - 1);
      u.col(0) -= gamma(j) * u.col(j);
    }
    for (int j = 1; j <= l; ++j) r.col(0) -= gamma(j) * r.col(j);
    iterates.push_back(preconditioner * x);
  }
  return iterates;
}

/// Unsymmetric, every entry filled, the diagonal of several sizes.
csr_matrix<double> full_matrix(int n) {
  const std::vector<double> entries = random_vector<double>(n * n, 17);
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      t.columns.push_back(j);
      t.values.push_back(i == j ? 3 + i % 5 : 0.3 * entries[static_cast<std::size_t>(i * n + j)]);
    }
    t.row({});
  }
  return t.matrix();
}

/// Convection and diffusion on m x m points of a square by central differences. Above a Peclet number of 1 the
/// eigenvalues lie far off the real axis.
template <class T>
csr_matrix<T> central_convection(int m, double peclet) {
  triplets<T> t(static_cast<index_type>(m) * m);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      const auto add = [&](int line, int column, double value) {
        if (line < 0 || line >= m || column < 0 || column >= m) return;
        t.columns.push_back(line * m + column);
        t.values.push_back(static_cast<T>(value));
      };
      add(i - 1, j, -1 - peclet / 2);
      add(i, j - 1, -1 - peclet);
      add(i, j, 4);
      add(i, j + 1, -1 + peclet);
      add(i + 1, j, -1 + peclet / 2);
      t.row({});
    }
  return t.matrix();
}

}  // namespace

TEST_CASE("bicgstabl takes the steps of the paper", "[linear][bicgstabl]") {
  const int n = 50;
  const auto A = full_matrix(n);
  const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
  const std::vector<double> b = random_vector<double>(n, 5);
  for (const std::string& executor : executors_with_steps())
    for (const char* preconditioner : {"none", "jacobi"})
      for (const int l : {1, 2, 3, 4, 5, 8}) {
        Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(n, n);
        if (preconditioner == std::string("jacobi")) inverse.diagonal() = dense.diagonal().cwiseInverse();
        const int cycles = l < 4 ? 6 / l : 2;
        const auto expected = textbook_bicgstabl(dense, inverse, to_eigen(b), l, cycles);
        for (int k = 1; k <= cycles; ++k) {
          INFO(executor << ", " << preconditioner << ", l = " << l << ", k = " << k);
          std::vector<double> x(b.size(), 0);
          const report r = linear_solver<double>(A, {.method = "bicgstabl",
                                                     .preconditioner = preconditioner,
                                                     .rtol = 1e-300,
                                                     .max_iterations = k,
                                                     .polynomial_degree = l,
                                                     .keep_best = false,
                                                     .executor = executor})
                               .solve(b, x);
          CHECK(r.reason() == reason::iteration_limit);
          CHECK(r.iterations() == k);
          const Eigen::VectorXd& x_k = expected[static_cast<std::size_t>(k - 1)];
          // Powers of A up to the eighth are nearly dependent: there the gammas differ in more digits.
          CHECK((to_eigen(x) - x_k).norm() <= (l < 8 ? 1e-10 : 1e-8) * x_k.norm());
          CHECK(r.history().size() == static_cast<std::size_t>(k + 1));
        }
      }
}

TEST_CASE("bicgstabl of degree 1 is bicgstab", "[linear][bicgstabl]") {
  const auto A = full_matrix(50);
  const std::vector<double> b = random_vector<double>(50, 9);
  for (const std::string& executor : executors_with_steps())
    for (const char* preconditioner : {"none", "jacobi"})
      for (int k = 1; k <= 5; ++k) {
        INFO(executor << ", " << preconditioner << ", k = " << k);
        linear_solver_options options{.method = "bicgstab",
                                      .preconditioner = preconditioner,
                                      .rtol = 1e-300,
                                      .max_iterations = k,
                                      .polynomial_degree = 1,
                                      .keep_best = false,
                                      .executor = executor};
        std::vector<double> x(b.size(), 0), y(b.size(), 0);
        linear_solver<double>(A, options).solve(b, x);
        options.method = "bicgstabl";
        linear_solver<double>(A, options).solve(b, y);
        CHECK((to_eigen(x) - to_eigen(y)).norm() <= 1e-10 * to_eigen(x).norm());
      }
}

TEMPLATE_TEST_CASE("bicgstabl solves systems with complex spectra", "[linear][bicgstabl]", float, double) {
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  // In float, rounding decides about larger systems that are so far from normal.
  for (const auto& A : {convection_diffusion<TestType>(sizeof(TestType) == 4 ? 20 : 400),
                        central_convection<TestType>(24, 0.5), central_convection<TestType>(24, 4)}) {
    const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
    for (const std::string& executor : executors_with_steps())
      for (const char* preconditioner : {"none", "jacobi"})
        for (const int l : {2, 3, 4, 8}) {
          INFO(executor << ", " << preconditioner << ", l = " << l << ", " << A.rows() << " rows");
          linear_solver<TestType> solver(A, {.method = "bicgstabl",
                                             .preconditioner = preconditioner,
                                             .rtol = rtol,
                                             .polynomial_degree = l,
                                             .executor = executor});
          std::vector<TestType> x(b.size(), 0);
          const report r = solver.solve(b, x);
          INFO(r.message());
          CHECK(r.converged());
          CHECK(relative_residual(A, b, x) <= 1.01 * rtol);
        }
  }
}

TEST_CASE("bicgstabl where bicgstab is slow", "[linear][bicgstabl]") {
  // Convection outweighs diffusion tenfold: a polynomial of degree 1 hardly lowers r.
  const auto A = central_convection<double>(24, 10);
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver_options options{.method = "bicgstab", .executor = executor};
    std::vector<double> x(b.size(), 0);
    const report slow = linear_solver<double>(A, options).solve(b, x);
    options.method = "bicgstabl";
    for (const int l : {2, 4, 8}) {
      options.polynomial_degree = l;
      std::fill(x.begin(), x.end(), 0.0);
      const report r = linear_solver<double>(A, options).solve(b, x);
      INFO("bicgstab: " << slow.message() << "; l = " << l << ": " << r.message());
      CHECK(r.converged());
      CHECK(relative_residual(A, b, x) <= 1.01e-8);
      CHECK((!slow.converged() || 2 * (2 * l * r.iterations()) < 2 * slow.iterations()));  // half the products
    }
  }
}

TEST_CASE("how bicgstabl ends where it must fail", "[linear][bicgstabl][sanitizer]") {
  for (const std::string& executor : executors_with_steps())
    for (const int l : {1, 2, 8}) {
      INFO(executor << ", l = " << l);
      const linear_solver_options options{.method = "bicgstabl", .polynomial_degree = l, .executor = executor};
      // (b, A b) = 0 for a rotation: no first step.
      triplets<double> rotation(2);
      rotation.row({{1, 1}});
      rotation.row({{0, -1}});
      std::vector<double> x(2, 0.0);
      CHECK(linear_solver<double>(rotation.matrix(), options).solve({1, 0}, x).reason() == reason::breakdown);
      CHECK(x == std::vector<double>{0, 0});
      // A step alpha that overflows.
      triplets<double> steep(2);
      steep.row({{0, 1e-310}, {1, 1}});
      steep.row({{0, -1}});
      CHECK(linear_solver<double>(steep.matrix(), options).solve({1, 0}, x).reason() == reason::breakdown);
      CHECK(x == std::vector<double>{0, 0});
    }
  const auto A = full_matrix(12);
  const std::vector<double> b(12, 1.0);
  // M loses everything, or gives no number, from its call `from` on.
  const auto reason_of = [&](int l, int from, double factor) {
    int calls = 0;
    const auto M = [&calls, from, factor](whilst::stream_handle, index_type n, const double* r, double* z) {
      const double by = ++calls < from ? 1 : factor;
      for (index_type i = 0; i < n; ++i) z[i] = by * r[i];
    };
    std::vector<double> x(12, 0.0);
    const report r =
        linear_solver<double>(A, M, {.method = "bicgstabl", .polynomial_degree = l, .executor = "host"}).solve(b, x);
    INFO("l = " << l << ", from call " << from << ", " << factor << ": " << r.message());
    for (const double value : x) CHECK(std::isfinite(value));
    CHECK(r.relative_residual() == Approx(relative_residual(A, b, x)));
    CHECK(r.relative_residual() <= 1);
    return r.reason();
  };
  for (const int l : {1, 2, 4})
    for (int from = 1; from <= 2 * l; ++from) {
      CHECK(reason_of(l, from, 0) == reason::breakdown);
      CHECK(reason_of(l, from, std::nan("")) == reason::nan_or_infinity);
    }
  // One product of the loop alone is not a number: for alpha, for beta or the gammas, for alpha again.
  for (const int l : {1, 2})
    for (int bad = 1; bad <= 2 * l; ++bad) {
      int calls = 0;
      const auto multiply = [&, bad](whilst::stream_handle, index_type n, const double* x, double* y) {
        const bool spoilt = ++calls == bad + 2;  // two precede the loop
        for (index_type i = 0; i < n; ++i)
          y[i] = spoilt ? std::nan("") : 3 * x[i] + (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? 2 * x[i + 1] : 0);
      };
      std::vector<double> x(12, 0.0);
      const linear_solver_options options{.method = "bicgstabl", .polynomial_degree = l, .executor = "host"};
      INFO("l = " << l << ", product " << bad);
      CHECK(linear_solver<double>(12, multiply, options).solve(b, x).reason() == reason::nan_or_infinity);
      for (const double value : x) CHECK(std::isfinite(value));
    }
  // (A r, r) = 0 exactly after the half step, where degree 1 finds no step: y = A x for a 2 x 2 skew matrix, but for
  // the first product of the loop.
  int calls = 0;
  const auto skew = [&calls](whilst::stream_handle, index_type, const double* x, double* y) {
    const bool first = ++calls == 3;
    y[0] = first ? x[0] + x[1] : x[1];
    y[1] = first ? x[1] : -x[0];
  };
  std::vector<double> x(2, 0.0);
  const report stagnant =
      linear_solver<double>(2, skew, {.method = "bicgstabl", .polynomial_degree = 1, .executor = "host"})
          .solve({1, 1}, x);
  INFO(stagnant.message());
  CHECK(stagnant.reason() == reason::stagnation);
  for (const double value : x) CHECK(std::isfinite(value));
}

TEST_CASE("an iteration of bicgstabl is a cycle of 2 l products", "[linear][bicgstabl]") {
  const auto A = central_convection<double>(12, 1);
  const std::vector<double> b = random_vector<double>(A.rows(), 2);
  const auto sparse = to_eigen(A);
  int products = 0;
  const auto multiply = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    ++products;
    Eigen::Map<Eigen::VectorXd>(y, n) = sparse * Eigen::Map<const Eigen::VectorXd>(x, n);
  };
  for (const int l : {1, 2, 5}) {
    linear_solver<double> solver(A.rows(), multiply,
                                 {.method = "bicgstabl", .polynomial_degree = l, .executor = "host"});
    std::vector<double> x(b.size(), 0.0);
    products = 0;
    const report r = solver.solve(b, x);
    CHECK(r.converged());
    const auto most = static_cast<int>(2 * l * r.iterations()) + 3;  // the size of A, and the true residual twice
    CHECK(products <= most);
    CHECK(products > most - 2 * l);  // the last cycle may end early
  }
  // One product is enough here, and the cycle ends there.
  triplets<double> t(3);
  for (int i = 0; i < 3; ++i) t.row({{i, 2}});
  std::vector<double> x(3, 0.0);
  const report r =
      linear_solver<double>(t.matrix(), {.method = "bicgstabl", .polynomial_degree = 8}).solve({1, 2, 3}, x);
  CHECK(r.reason() == reason::converged_rtol);
  CHECK(r.iterations() == 1);
  CHECK(x == std::vector<double>{0.5, 1, 1.5});
}

}  // namespace whilst_test
