// IDR(s): what the tests of all methods cannot see.
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

/// The method's shadow vectors.
Eigen::MatrixXd shadow_vectors(int n, int s) {
  Eigen::MatrixXd P(n, s);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < s; ++k) {
      std::uint64_t z = (4 * static_cast<std::uint64_t>(i) + static_cast<std::uint64_t>(k / 4) + 1) *
                        std::uint64_t{0x9e3779b97f4a7c15};
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      z ^= z >> 31;
      P(i, k) = (static_cast<double>((z >> (16 * (k % 4))) & 0xffff) - 32767.5) / 32768;
    }
  return P;
}

/// Algorithm 913 as published, from x = 0: x after each product.
std::vector<Eigen::VectorXd> textbook_idr(const Eigen::MatrixXd& A, const Eigen::MatrixXd& preconditioner,
                                          const Eigen::VectorXd& b, const Eigen::MatrixXd& P, int products) {
  const Eigen::Index n = b.size(), s = P.cols();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n), r = b;
  Eigen::MatrixXd G = Eigen::MatrixXd::Zero(n, s), U = G, M = Eigen::MatrixXd::Identity(s, s);
  double omega = 1;
  std::vector<Eigen::VectorXd> iterates;
  for (;;) {
    Eigen::VectorXd f = P.transpose() * r;
    for (Eigen::Index k = 0; k < s; ++k) {
      const Eigen::Index left = s - k;
      const Eigen::VectorXd c = M.bottomRightCorner(left, left).triangularView<Eigen::Lower>().solve(f.tail(left));
      const Eigen::VectorXd v = preconditioner * (r - G.rightCols(left) * c);
      const Eigen::VectorXd u = U.rightCols(left) * c + omega * v;
      U.col(k) = u;
      G.col(k) = A * u;
      for (Eigen::Index i = 0; i < k; ++i) {
        const double alpha = P.col(i).dot(G.col(k)) / M(i, i);
        G.col(k) -= alpha * G.col(i);
        U.col(k) -= alpha * U.col(i);
      }
      M.col(k).tail(left) = P.rightCols(left).transpose() * G.col(k);
      const double beta = f(k) / M(k, k);
      r -= beta * G.col(k);
      x += beta * U.col(k);
      iterates.push_back(x);
      if (static_cast<int>(iterates.size()) == products) return iterates;
      f.tail(left - 1) -= beta * M.col(k).tail(left - 1);
    }
    const Eigen::VectorXd v = preconditioner * r, t = A * v;
    omega = t.dot(r) / t.dot(t);
    const double rho = t.dot(r) / (t.norm() * r.norm());
    if (std::abs(rho) < 0.7) omega *= 0.7 / std::abs(rho);
    r -= omega * t;
    x += omega * v;
    iterates.push_back(x);
    if (static_cast<int>(iterates.size()) == products) return iterates;
  }
}

/// Unsymmetric, every entry filled, eigenvalues around 3 or more, the diagonal of several sizes.
csr_matrix<double> full_matrix(int n, double off_diagonal = 0.3) {
  const std::vector<double> entries = random_vector<double>(n * n, 17);
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      t.columns.push_back(j);
      t.values.push_back(i == j ? 3 + i % 5 : off_diagonal * entries[static_cast<std::size_t>(i * n + j)]);
    }
    t.row({});
  }
  return t.matrix();
}

/// -u'' + w u' on a square of m x m points, by central differences: w h / 2 is the cell's Peclet number. Above 1 the
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

TEST_CASE("idr takes the steps of Algorithm 913", "[linear][idr]") {
  const int n = 50;
  const auto A = full_matrix(n);
  const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
  const std::vector<double> b = random_vector<double>(n, 5);
  for (const std::string& executor : executors_with_steps())
    for (const char* preconditioner : {"none", "jacobi"})
      for (const int s : {1, 2, 3, 4, 8, 11, 16}) {
        Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(n, n);
        if (preconditioner == std::string("jacobi")) inverse.diagonal() = dense.diagonal().cwiseInverse();
        const int products = s < 8 ? 11 : 2 * s + 3;
        const auto expected = textbook_idr(dense, inverse, to_eigen(b), shadow_vectors(n, s), products);
        for (int k = 1; k <= products; ++k) {
          INFO(executor << ", " << preconditioner << ", s = " << s << ", k = " << k);
          std::vector<double> x(b.size(), 0);
          const report r = linear_solver<double>(A, {.method = "idr",
                                                     .preconditioner = preconditioner,
                                                     .rtol = 1e-300,
                                                     .max_iterations = k,
                                                     .shadow_dimension = s,
                                                     .keep_best = false,
                                                     .executor = executor})
                               .solve(b, x);
          CHECK(r.reason() == reason::iteration_limit);
          CHECK(r.iterations() == k);
          const Eigen::VectorXd& x_k = expected[static_cast<std::size_t>(k - 1)];
          CHECK((to_eigen(x) - x_k).norm() <= 1e-10 * x_k.norm());
          CHECK(r.history().size() == static_cast<std::size_t>(k + 1));
        }
      }
}

TEST_CASE("idr ends within n + n / s products", "[linear][idr]") {
  const int n = 12;
  // A cyclic shift, of which the smallest residual in a Krylov space of less than n dimensions is b itself; and a
  // generic matrix.
  triplets<double> shift(n);
  for (int i = 0; i < n; ++i) shift.row({{(i + 1) % n, 1}});
  std::vector<double> unit(n, 0.0);
  unit[0] = 1;
  for (const std::string& executor : executors_with_steps())
    for (const int s : {1, 2, 3, 4, 6, 8, 12, 16}) {
      INFO(executor << ", s = " << s);
      const int most = n + (n + s - 1) / s;
      linear_solver_options options{
          .method = "idr", .rtol = 1e-6, .max_iterations = most, .shadow_dimension = s, .executor = executor};
      std::vector<double> x(n, 0.0);
      const report of_shift = linear_solver<double>(shift.matrix(), options).solve(unit, x);
      CHECK(of_shift.converged());
      CHECK(of_shift.iterations() >= n);
      CHECK(relative_residual(shift.matrix(), unit, x) <= 1.01e-6);
      const auto A = full_matrix(n, 1.5);
      const std::vector<double> b = random_vector<double>(n, 6);
      std::fill(x.begin(), x.end(), 0.0);
      CHECK(linear_solver<double>(A, options).solve(b, x).converged());
      CHECK(relative_residual(A, b, x) <= 1.01e-6);
    }
  // Fewer equations than shadow vectors.
  for (const int few : {1, 2, 3, 5}) {
    const auto A = full_matrix(few);
    const std::vector<double> b = random_vector<double>(few, 7);
    std::vector<double> x(b.size(), 0.0);
    const report r = linear_solver<double>(A, {.method = "idr", .shadow_dimension = 16}).solve(b, x);
    INFO(few << " equations: " << r.message());
    CHECK(r.converged());
    CHECK(r.iterations() <= few);
    CHECK(relative_residual(A, b, x) <= 1.01e-8);
  }
}

TEMPLATE_TEST_CASE("idr solves systems with complex spectra", "[linear][idr]", float, double) {
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  // In float, rounding decides about larger systems that are so far from normal.
  for (const auto& A : {convection_diffusion<TestType>(sizeof(TestType) == 4 ? 20 : 400),
                        central_convection<TestType>(24, 0.5), central_convection<TestType>(24, 4)}) {
    const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
    for (const std::string& executor : executors_with_steps())
      for (const char* preconditioner : {"none", "jacobi"})
        for (const int s : {1, 4, 8, 16}) {
          INFO(executor << ", " << preconditioner << ", s = " << s << ", " << A.rows() << " rows");
          linear_solver<TestType> solver(A, {.method = "idr",
                                             .preconditioner = preconditioner,
                                             .rtol = rtol,
                                             .shadow_dimension = s,
                                             .executor = executor});
          std::vector<TestType> x(b.size(), 0);
          const report r = solver.solve(b, x);
          INFO(r.message());
          CHECK((r.converged() || s == 1));  // IDR(1) is BiCGSTAB, which rounding may stop
          CHECK((!r.converged() || relative_residual(A, b, x) <= 1.01 * rtol));
        }
  }
}

TEST_CASE("idr where bicgstab stagnates", "[linear][idr]") {
  // Skew-symmetric: (A r, r) = 0 for every r.
  const int n = 40;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    if (i == 0) {
      t.row({{1, 1}});
    } else if (i == n - 1) {
      t.row({{n - 2, -1}});
    } else {
      t.row({{i - 1, -1}, {i + 1, 1}});
    }
  }
  const std::vector<double> b = random_vector<double>(n, 3);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<double> x(n, 0.0);
    CHECK_FALSE(
        linear_solver<double>(t.matrix(), {.method = "bicgstab", .executor = executor}).solve(b, x).converged());
    std::fill(x.begin(), x.end(), 0.0);
    const report r =
        linear_solver<double>(t.matrix(), {.method = "idr", .shadow_dimension = 8, .executor = executor}).solve(b, x);
    INFO(r.message());
    CHECK(r.converged());
    CHECK(relative_residual(t.matrix(), b, x) <= 1.01e-8);
  }
}

TEST_CASE("how idr ends where it must fail", "[linear][idr][sanitizer]") {
  const auto finite = [](const std::vector<double>& x) {
    for (const double value : x) CHECK(std::isfinite(value));
  };
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    // A b = 0: no product has a component along a shadow vector.
    triplets<double> t(2);
    t.row({{1, 1}});
    t.row({});
    std::vector<double> x(2, 0.0);
    const report nilpotent =
        linear_solver<double>(t.matrix(), {.method = "idr", .executor = executor}).solve({1, 0}, x);
    CHECK(nilpotent.reason() == reason::breakdown);
    CHECK(x == std::vector<double>{0, 0});
  }
  const auto A = full_matrix(12);
  const std::vector<double> b(12, 1.0);
  const auto times_M = [&](double factor) {
    return [factor](whilst::stream_handle, index_type n, const double* r, double* z) {
      for (index_type i = 0; i < n; ++i) z[i] = factor * r[i];
    };
  };
  std::vector<double> x(12, 0.0);
  const linear_solver_options options{.method = "idr", .shadow_dimension = 1, .executor = "host"};
  CHECK(linear_solver<double>(A, times_M(0), options).solve(b, x).reason() == reason::breakdown);
  CHECK(x == std::vector<double>(12, 0.0));
  CHECK(linear_solver<double>(A, times_M(std::nan("")), options).solve(b, x).reason() == reason::nan_or_infinity);
  CHECK(x == std::vector<double>(12, 0.0));
  // beta overflows, though no sum is infinite or zero.
  CHECK(linear_solver<double>(A, times_M(5e-324), options).solve(b, x).reason() == reason::breakdown);
  finite(x);
  // M loses everything, or gives no number, from the second time on, when omega is to be chosen.
  for (const double late : {0.0, std::nan("")}) {
    int calls = 0;
    const auto forgetful = [&calls, late](whilst::stream_handle, index_type n, const double* r, double* z) {
      const double factor = ++calls == 1 ? 1 : late;
      for (index_type i = 0; i < n; ++i) z[i] = factor * r[i];
    };
    std::fill(x.begin(), x.end(), 0.0);
    const report r = linear_solver<double>(A, forgetful, options).solve(b, x);
    INFO(r.message());
    CHECK_FALSE(r.converged());
    CHECK((std::isnan(late) ? r.reason() == reason::nan_or_infinity : r.reason() == reason::breakdown));
    CHECK(r.iterations() == 1);
    finite(x);
    CHECK(r.relative_residual() == Approx(relative_residual(A, b, x)));
  }
}

TEST_CASE("an iteration of idr is a product", "[linear][idr]") {
  const auto A = central_convection<double>(12, 1);
  const std::vector<double> b = random_vector<double>(A.rows(), 2);
  const auto dense = to_eigen(A);
  int products = 0;
  const auto multiply = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    ++products;
    Eigen::Map<Eigen::VectorXd>(y, n) = dense * Eigen::Map<const Eigen::VectorXd>(x, n);
  };
  for (const int s : {1, 4, 5}) {
    linear_solver<double> solver(A.rows(), multiply, {.method = "idr", .shadow_dimension = s, .executor = "host"});
    std::vector<double> x(b.size(), 0.0);
    products = 0;
    const report r = solver.solve(b, x);
    CHECK(r.converged());
    const auto least = static_cast<int>(r.iterations()) + 3;  // the size of A, and the true residual before and after
    CHECK(products >= least);
    CHECK(products <= least + s);  // calls are not skipped: the last cycle's
  }
}

}  // namespace whilst_test
