// GMRES within a kernel, in batches: cycles and their ends, for every size of team.
#include <cmath>
#include <limits>

#include <Eigen/SparseLU>

#include "tests/catch.hpp"
#include "tests/host/batches.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/batch_linear_solver.hpp"

namespace whilst_test {

using whilst::batch_linear_solver;
using whilst::batch_report;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;

namespace {

/// A with `by` added to its diagonal.
template <class T>
csr_matrix<T> shifted(const csr_matrix<T>& A, double by) {
  std::vector<T> values(A.values().begin(), A.values().end());
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      if (A.column_indices()[static_cast<std::size_t>(k)] == i)
        values[static_cast<std::size_t>(k)] += static_cast<T>(by);
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), std::span<const T>(values)};
}

/// Convection and diffusion, or a single row.
template <class T>
csr_matrix<T> line(int n) {
  if (n > 1) return convection_diffusion<T>(n);
  triplets<T> t(1);
  t.row({{0, 1}});
  return t.matrix();
}

template <class T>
struct gmres_batch {
  std::vector<csr_matrix<T>> systems;
  std::vector<T> values, b, x;

  explicit gmres_batch(std::vector<csr_matrix<T>> given, unsigned seed)
      : systems(std::move(given)),
        b(random_vector<T>(static_cast<index_type>(systems.size()) * systems[0].rows(), seed)),
        x(b.size(), T(0)) {
    for (const csr_matrix<T>& A : systems) values.insert(values.end(), A.values().begin(), A.values().end());
  }
  std::vector<T> piece(const std::vector<T>& all, std::size_t k) const {
    const auto n = static_cast<std::ptrdiff_t>(systems[0].rows()), at = static_cast<std::ptrdiff_t>(k) * n;
    return {all.begin() + at, all.begin() + at + n};
  }
  batch_report solve(const linear_solver_options& options) {
    batch_linear_solver<T> solver(systems[0], static_cast<index_type>(systems.size()), options);
    return solver.solve(values, b, x);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("batches of gmres agree with LU, within a cycle and over many", "[batch][gmres]", float, double) {
  constexpr double rtol = 100 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  // One thread, lanes of a warp, a warp, blocks; more rows than a block has threads.
  for (const int n : {1, 2, 5, 20, 60, 150, 300, 1300}) {
    for (const int restart : {1, 4, 30, 1000}) {
      if (n > 1000 && restart != 4) continue;
      std::vector<csr_matrix<TestType>> systems;
      for (int k = 0; k < (n > 1000 ? 2 : 5); ++k) systems.push_back(shifted(line<TestType>(n), 2 + k));
      for (const std::string& executor : batch_executors()) {
        for (const char* preconditioner : {"none", "jacobi"}) {
          INFO(executor << ", n " << n << ", restart " << restart << ", " << preconditioner);
          gmres_batch<TestType> given(systems, 3);
          const batch_report r = given.solve({.method = "gmres",
                                              .preconditioner = preconditioner,
                                              .rtol = rtol,
                                              .restart = restart,
                                              .executor = executor});
          CHECK(r.all_converged());
          bool many = false;
          for (std::size_t k = 0; k < systems.size(); ++k) {
            const std::vector<TestType> b = given.piece(given.b, k), x = given.piece(given.x, k);
            many = many || r[static_cast<index_type>(k)].iterations > restart;
            REQUIRE(relative_residual(systems[k], b, x) <= 2 * rtol);
            const Eigen::SparseMatrix<double> A = to_eigen(systems[k]);
            const Eigen::VectorXd exact = Eigen::SparseLU<Eigen::SparseMatrix<double>>(A).solve(to_eigen(b));
            // Rows and columns are dominated by at least 2, so that ||A^-1|| <= 1/2.
            REQUIRE((to_eigen(x) - exact).norm() <= 0.5 * 2 * rtol * to_eigen(b).norm());
          }
          if (n >= 20 && restart <= 4) CHECK(many);
        }
      }
    }
  }
}

TEST_CASE("a batch of gmres stops at the limit, in the middle of a cycle too", "[batch][gmres]") {
  // In one kernel or step by step: the same x, up to the order of the sums.
  for (const int n : {40, 200}) {
    std::vector<csr_matrix<double>> systems;
    for (int k = 0; k < 4; ++k) systems.push_back(shifted(convection_diffusion<double>(n), 0.1 * (k + 1)));
    for (const std::string& executor : batch_executors()) {
      for (const index_type limit : {0, 1, 3, 4, 5, 8, 11}) {
        INFO(executor << ", n " << n << ", limit " << limit);
        gmres_batch<double> given(systems, 5);
        linear_solver_options options{.method = "gmres",
                                      .rtol = 1e-14,
                                      .max_iterations = limit,
                                      .restart = 4,
                                      .keep_best = false,
                                      .executor = executor};
        const batch_report r = given.solve(options);
        options.executor = "host";
        for (std::size_t k = 0; k < systems.size(); ++k) {
          CHECK(r[static_cast<index_type>(k)].reason == reason::iteration_limit);
          CHECK(r[static_cast<index_type>(k)].iterations == limit);
          std::vector<double> x(static_cast<std::size_t>(n), 0.0);
          linear_solver<double>(systems[k], options).solve(given.piece(given.b, k), x);
          CHECK((to_eigen(given.piece(given.x, k)) - to_eigen(x)).norm() <= 1e-10 * (1 + to_eigen(x).norm()));
        }
      }
    }
  }
}

TEST_CASE("each system of a batch of gmres ends for its own reason", "[batch][gmres][sanitizer]") {
  const auto two = [](double a, double b, double c, double d) {
    triplets<double> t(2);
    t.row({{0, a}, {1, b}});
    t.row({{0, c}, {1, d}});
    return t.matrix();
  };
  const double nan = std::nan("");
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    // A b = 0; an eigenvector; two steps; NaN in A, and in b; b = 0; and a start at the solution.
    gmres_batch<double> given({two(0, 1, 0, 0), two(3, 1, 1, 3), two(3, 1, 1, 3), two(3, nan, 1, 3), two(3, 1, 1, 3),
                               two(3, 1, 1, 3), two(3, 1, 1, 3)},
                              1);
    given.b = {1, 0, 1, 1, 1, 0, 1, 1, nan, 1, 0, 0, 4, 4};
    given.x[12] = given.x[13] = 1;
    const batch_report r = given.solve({.method = "gmres", .executor = executor});
    CHECK(r[0].reason == reason::breakdown);
    CHECK(r[1].reason == reason::converged_rtol);
    CHECK(r[1].iterations == 1);
    CHECK(r[2].reason == reason::converged_rtol);
    CHECK(r[2].iterations == 2);
    CHECK(r[3].reason == reason::nan_or_infinity);
    CHECK(r[4].reason == reason::nan_or_infinity);
    CHECK(r[5].reason == reason::converged_rtol);
    CHECK(r[5].iterations == 0);
    CHECK(r[6].reason == reason::converged_rtol);
    CHECK(r[6].iterations == 0);
    const double expected[] = {0, 0, 0.25, 0.25, 0.375, -0.125, 0, 0, 0, 0, 0, 0, 1, 1};
    for (std::size_t i = 0; i < 14; ++i) CHECK(given.x[i] == Approx(expected[i]).margin(1e-14));
  }
}

TEST_CASE("a residual that stands still falls in step n within a kernel, or never", "[batch][gmres]") {
  // Ones below the diagonal and in the corner: the residual stays as it is until step n.
  const int n = 20;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) t.row({{(i + n - 1) % n, 1}});
  for (const std::string& executor : batch_executors()) {
    for (const int restart : {n, n / 2}) {
      INFO(executor << ", restart " << restart);
      gmres_batch<double> given({t.matrix(), t.matrix(), t.matrix()}, 1);
      std::fill(given.b.begin(), given.b.end(), 0.0);
      for (std::size_t k = 0; k < 3; ++k) given.b[k * n + k] = 1;
      const batch_report r =
          given.solve({.method = "gmres", .max_iterations = 200, .restart = restart, .executor = executor});
      for (index_type k = 0; k < 3; ++k) {
        CHECK(r[k].reason == (restart == n ? reason::converged_rtol : reason::iteration_limit));
        CHECK(r[k].iterations == (restart == n ? n : 200));
        CHECK(r[k].relative_residual() == Approx(restart == n ? 0 : 1).margin(1e-13));
      }
    }
  }
}

}  // namespace whilst_test
