// GMRES and FGMRES: what the tests of all methods cannot see.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

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

/// z = M r, the k-th time.
using dense_preconditioner = std::function<Eigen::VectorXd(int k, const Eigen::VectorXd& r)>;

/// The x after `iterations`, by definition: in each cycle that with the least residual of all x + M_1 v_1 y_1 + ... +
/// M_k v_k y_k, where v spans the Krylov space; from a QR of A M V.
template <class Matrix>
Eigen::VectorXd least_residual(const Matrix& A, const Eigen::VectorXd& b, Eigen::VectorXd x, int iterations,
                               int restart, const dense_preconditioner& M) {
  for (int done = 0; done < iterations;) {
    const Eigen::VectorXd r = b - A * x;
    Eigen::MatrixXd V = r.normalized(), Z(A.rows(), 0);
    const int columns = std::min(restart, iterations - done);
    for (int k = 0; k < columns; ++k) {
      Z.conservativeResize(Eigen::NoChange, k + 1);
      Z.col(k) = M(done + k, V.col(k));
      Eigen::VectorXd next = A * Z.col(k);
      for (int pass = 0; pass < 3; ++pass) next -= V * (V.transpose() * next);
      V.conservativeResize(Eigen::NoChange, k + 2);
      V.col(k + 1) = next.normalized();
    }
    const Eigen::MatrixXd image = A * Z;
    x += Z * image.householderQr().solve(r);
    done += columns;
  }
  return x;
}

/// 50 rows: unsymmetric, a varying diagonal, far from normal.
template <class T>
csr_matrix<T> fifty() {
  triplets<T> t(50);
  for (int i = 0; i < 50; ++i) {
    const double diagonal = 3 + i % 7;
    if (i < 2) {
      t.row({{i, diagonal}, {i + 1, -1.5}, {i + 3, 0.5}});
    } else if (i < 47) {
      t.row({{i - 2, 1}, {i, diagonal}, {i + 1, -1.5}, {i + 3, 0.5}});
    } else {
      t.row({{i - 2, 1}, {i, diagonal}});
    }
  }
  return t.matrix();
}

/// Ones below the diagonal and in the corner: the residual stays as it is until step n.
csr_matrix<double> cycle(int n) {
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) t.row({{(i + n - 1) % n, 1}});
  return t.matrix();
}

double as_double(const std::vector<double>& x, const Eigen::VectorXd& expected) {
  return (to_eigen(x) - expected).norm() / expected.norm();
}

}  // namespace

TEST_CASE("iterates of gmres and fgmres have the least residual of their space", "[linear][gmres]") {
  const csr_matrix<double> A = fifty<double>();
  const Eigen::MatrixXd dense = to_eigen(A);
  const std::vector<double> b = random_vector<double>(50, 3), x0 = random_vector<double>(50, 4);
  const Eigen::VectorXd inverse = dense.diagonal().cwiseInverse();
  for (const std::string method : {"gmres", "fgmres"}) {
    for (const std::string& executor : method == "gmres" ? executors() : executors_with_steps()) {
      for (const std::string preconditioner : {"none", "jacobi"}) {
        for (const int restart : {1, 2, 4, 30}) {
          for (const int iterations : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 25}) {
            INFO(executor << ", " << method << "(" << restart << "), " << preconditioner << ", " << iterations);
            const dense_preconditioner M = [&](int, const Eigen::VectorXd& r) -> Eigen::VectorXd {
              return preconditioner == "none" ? r : Eigen::VectorXd(inverse.cwiseProduct(r));
            };
            linear_solver<double> solver(A, {.method = method,
                                             .preconditioner = preconditioner,
                                             .rtol = 0,
                                             .max_iterations = iterations,
                                             .restart = restart,
                                             .keep_best = false,
                                             .executor = executor});
            std::vector<double> x = x0;
            const report r = solver.solve(b, x);
            REQUIRE(r.reason() == reason::iteration_limit);
            REQUIRE(r.iterations() == iterations);
            REQUIRE(as_double(x, least_residual(dense, to_eigen(b), to_eigen(x0), iterations, restart, M)) <= 1e-10);
            REQUIRE(r.relative_residual() == Approx(relative_residual(A, b, x)).epsilon(1e-6).margin(1e-15));
          }
        }
      }
    }
  }
}

TEST_CASE("iterates of gmres have it where the sums are made of many pieces", "[linear][gmres]") {
  // Up to 512 rows a piece, few pieces and up to 256 of them, and larger pieces.
  for (const int n : {129, 600, 5000, 40'000, 140'000}) {
    const csr_matrix<double> A = convection_diffusion<double>(n);
    const std::vector<double> b = random_vector<double>(n, 11);
    const dense_preconditioner M = [](int, const Eigen::VectorXd& r) { return r; };
    for (const std::string& executor : executors()) {
      for (const int iterations : {3, 12}) {
        INFO(executor << ", " << n << " rows, " << iterations);
        linear_solver<double> solver(A, {.method = "gmres",
                                         .rtol = 0,
                                         .max_iterations = iterations,
                                         .restart = 5,
                                         .keep_best = false,
                                         .executor = executor});
        std::vector<double> x(static_cast<std::size_t>(n), 0.0);
        solver.solve(b, x);
        CHECK(as_double(x, least_residual(to_eigen(A), to_eigen(b), Eigen::VectorXd::Zero(n), iterations, 5, M)) <=
              1e-10);
      }
    }
  }
}

TEST_CASE("a space that is exhausted in rounding ends no solve in numbers that are none", "[linear][gmres]") {
  // b lies in a space of 3 to 8 dimensions that A maps to itself: what is left of the next vector is rounding.
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const std::string& executor : executors()) {
    int good = 0;
    const int systems = executor == "host" ? 300 : 30;
    for (int k = 0; k < systems; ++k) {
      const int n = 4 + k % 6;
      triplets<float> t(n);
      for (int i = 0; i + 1 < n; ++i) {
        for (int j = 0; j + 1 < n; ++j) {
          t.columns.push_back(j);
          t.values.push_back(static_cast<float>(uniform(random) + (i == j ? 2 : 0)));
        }
        t.offsets.push_back(static_cast<std::int32_t>(t.columns.size()));
      }
      t.row({{n - 1, 2}});
      std::vector<float> b(static_cast<std::size_t>(n), 0), x(static_cast<std::size_t>(n), 0);
      for (int i = 0; i + 1 < n; ++i) b[static_cast<std::size_t>(i)] = static_cast<float>(uniform(random));
      const csr_matrix<float> A = t.matrix();
      const report r = linear_solver<float>(A, {.method = "gmres", .rtol = 1e-5, .executor = executor}).solve(b, x);
      INFO(executor << ", system " << k << ", " << n << " rows: " << r.message());
      CHECK(r.reason() != reason::nan_or_infinity);
      good += r.converged();
      CHECK((!r.converged() || relative_residual(A, b, x) <= 1.01e-5));
    }
    CHECK(good >= 0.95 * systems);
  }
}

TEST_CASE("gmres says that a matrix is singular, not that rounding is in the way", "[linear][gmres]") {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const std::string& executor : executors()) {
    int said = 0;
    const int systems = executor == "host" ? 200 : 20;
    for (int k = 0; k < systems; ++k) {
      const int n = 3 + k % 6;
      Eigen::MatrixXd dense = Eigen::MatrixXd::NullaryExpr(n, n, [&] { return uniform(random); });
      dense.row(n - 1) = 0.5 * dense.row(0) + dense.row(1);
      triplets<double> t(n);
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          t.columns.push_back(j);
          t.values.push_back(dense(i, j));
        }
        t.offsets.push_back(static_cast<std::int32_t>(t.columns.size()));
      }
      std::vector<double> x(static_cast<std::size_t>(n), 0.0);
      const report r = linear_solver<double>(t.matrix(), {.method = "gmres", .executor = executor})
                           .solve(random_vector<double>(n, static_cast<unsigned>(k)), x);
      CHECK_FALSE(r.converged());
      said += r.reason() == reason::breakdown || r.reason() == reason::stagnation;
    }
    // The others are so near to consistent that rounding is in the way.
    CHECK(said >= 0.9 * systems);
  }
}

TEST_CASE("a residual that stands still falls in step n, or never", "[linear][gmres]") {
  for (const std::string& executor : executors_with_steps()) {
    for (const char* method : {"gmres", "fgmres"}) {
      INFO(executor << ", " << method);
      const int n = 20;
      std::vector<double> b(n, 0.0), x(n, 0.0);
      b[0] = 1;
      const csr_matrix<double> A = cycle(n);
      linear_solver<double> whole(A, {.method = method, .restart = n, .executor = executor});
      const report r = whole.solve(b, x);
      CHECK(r.converged());
      CHECK(r.iterations() == n);
      REQUIRE(r.history().size() >= n);
      for (int k = 0; k < n; ++k) CHECK(r.history()[static_cast<std::size_t>(k)].residual_norm == Approx(1));
      for (int i = 0; i < n; ++i) CHECK(x[static_cast<std::size_t>(i)] == Approx(i == n - 1 ? 1 : 0).margin(1e-14));

      std::fill(x.begin(), x.end(), 0.0);
      linear_solver<double> part(A, {.method = method, .max_iterations = 200, .restart = n / 2, .executor = executor});
      const report stands = part.solve(b, x);
      CHECK(stands.reason() == reason::iteration_limit);
      CHECK(relative_residual(A, b, x) == Approx(1));
    }
  }
}

TEMPLATE_TEST_CASE("long cycles keep their basis orthogonal", "[linear][gmres]", float, double) {
  // Eigenvalues from 1e-3 to 1, and a residual that falls to rounding within one cycle: a single pass of Gram-Schmidt
  // ends with a basis that is far from orthogonal, and with a residual norm that is not true.
  const int n = 120;
  triplets<TestType> t(n);
  for (int i = 0; i < n; ++i) {
    const double diagonal = std::pow(10.0, -3.0 * i / (n - 1));
    if (i + 1 < n) {
      t.row({{i, diagonal}, {i + 1, 0.3 * diagonal}});
    } else {
      t.row({{i, diagonal}});
    }
  }
  const csr_matrix<TestType> A = t.matrix();
  const std::vector<TestType> b = random_vector<TestType>(n, 7);
  // What rounding of x, and of the products with A, leaves.
  const double rtol = 1e3 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<TestType> solver(A, {.method = "gmres", .rtol = rtol, .restart = n, .executor = executor});
    std::vector<TestType> x(n, 0);
    const report r = solver.solve(b, x);
    CHECK(r.converged());
    CHECK(r.iterations() <= n + 1);
    CHECK(relative_residual(A, b, x) <= 1.1 * rtol);
    // One cycle: the norm of the recurrence was true to the end.
    for (std::size_t k = 1; k < r.history().size(); ++k)
      CHECK(r.history()[k].residual_norm <= r.history()[k - 1].residual_norm * (1 + 1e-6));
  }
}

TEST_CASE("fgmres takes a preconditioner that changes from step to step", "[linear][gmres]") {
  const csr_matrix<double> A = fifty<double>();
  const Eigen::MatrixXd dense = to_eigen(A);
  const std::vector<double> b = random_vector<double>(50, 5);
  const auto scale = [](int call, index_type i) {
    return call % 2 == 0 ? 1.0 : 1.0 / (1 + static_cast<double>(i % 5));
  };
  int calls = 0;
  const auto changing = [&](whilst::stream_handle, index_type n, const double* r, double* z) {
    for (index_type i = 0; i < n; ++i) z[i] = scale(calls, i) * r[i];
    calls += 1;
  };
  const dense_preconditioner M = [&](int k, const Eigen::VectorXd& r) {
    Eigen::VectorXd z = r;
    for (int i = 0; i < z.size(); ++i) z[i] *= scale(k, i);
    return z;
  };
  for (const int iterations : {1, 2, 3, 7, 12}) {
    INFO(iterations);
    calls = 0;
    std::vector<double> x(50, 0.0);
    linear_solver<double> solver(A, changing,
                                 {.method = "fgmres",
                                  .rtol = 0,
                                  .max_iterations = iterations,
                                  .keep_best = false,
                                  .executor = "host",
                                  .callback_memory = "host"});
    calls = 0;
    solver.solve(b, x);
    CHECK(as_double(x, least_residual(dense, to_eigen(b), Eigen::VectorXd::Zero(50), iterations, 30, M)) <= 1e-10);
  }
  std::vector<double> x(50, 0.0);
  linear_solver<double> solver(A, changing,
                               {.method = "fgmres", .rtol = 1e-12, .executor = "host", .callback_memory = "host"});
  CHECK(solver.solve(b, x).converged());
  CHECK(relative_residual(A, b, x) <= 1.1e-12);
}

TEST_CASE("gmres ends where its space does", "[linear][gmres][sanitizer]") {
  for (const std::string& executor : executors_with_steps()) {
    for (const char* method : {"gmres", "fgmres"}) {
      INFO(executor << ", " << method);
      const linear_solver_options options{.method = method, .executor = executor};
      // A b = 0.
      triplets<double> nilpotent(2);
      nilpotent.row({{1, 1}});
      nilpotent.row({});
      std::vector<double> x(2, 0.0);
      CHECK(linear_solver<double>(nilpotent.matrix(), options).solve(std::vector<double>{1, 0}, x).reason() ==
            reason::breakdown);
      CHECK(x == std::vector<double>{0, 0});
      // An eigenvector: one step.
      triplets<double> two(2);
      two.row({{0, 3}, {1, 1}});
      two.row({{0, 1}, {1, 3}});
      const report r = linear_solver<double>(two.matrix(), options).solve(std::vector<double>{1, 1}, x);
      CHECK(r.converged());
      CHECK(r.iterations() == 1);
      CHECK(x[0] == Approx(0.25));
      CHECK(x[1] == Approx(0.25));
      // By hand, two steps.
      std::fill(x.begin(), x.end(), 0.0);
      const report whole = linear_solver<double>(two.matrix(), options).solve(std::vector<double>{1, 0}, x);
      CHECK(whole.converged());
      CHECK(whole.iterations() == 2);
      CHECK(x[0] == Approx(0.375));
      CHECK(x[1] == Approx(-0.125));
    }
  }
}

}  // namespace whilst_test
