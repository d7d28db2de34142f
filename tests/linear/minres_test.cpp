// MINRES: what the tests of all methods cannot see.
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// [D B'; B 0] with D = diag(1, 2, ..., n) and B = [I 0]: symmetric, indefinite, not singular. m rows of B.
template <class T>
csr_matrix<T> saddle_point(int n, int m) {
  triplets<T> t(n + m);
  for (int i = 0; i < n; ++i) {
    if (i < m) {
      t.row({{i, static_cast<double>(i + 1)}, {n + i, 1}});
    } else {
      t.row({{i, static_cast<double>(i + 1)}});
    }
  }
  for (int i = 0; i < m; ++i) t.row({{i, 1}});
  return t.matrix();
}

/// The least residual norm over x in the Krylov space of A and b of dimension k: by a QR of A times an orthonormal
/// basis of that space.
double least_residual(const Eigen::MatrixXd& A, const Eigen::VectorXd& b, int k) {
  Eigen::MatrixXd basis(b.size(), 0);
  Eigen::VectorXd next = b;
  for (int j = 0; j < k; ++j) {
    for (int again = 0; again < 2; ++again) next -= basis * (basis.transpose() * next);
    if (next.norm() == 0) break;
    basis.conservativeResize(Eigen::NoChange, j + 1);
    basis.col(j) = next.normalized();
    next = A * basis.col(j);
  }
  const Eigen::MatrixXd image = A * basis;
  return (b - image * image.householderQr().solve(b)).norm();
}

}  // namespace

TEMPLATE_TEST_CASE("minres by hand", "[linear][minres]", float, double) {
  // diag(1, -1) x = (1, 1). After one step x = 0, since A b is orthogonal to b; after two x = (1, -1).
  triplets<TestType> t(2);
  t.row({{0, 1}});
  t.row({{1, -1}});
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const double few = 4 * static_cast<double>(std::numeric_limits<TestType>::epsilon());  // roundings of some ones
    linear_solver<TestType> solver(t.matrix(),
                                   {.method = "minres", .rtol = few, .max_iterations = 1, .executor = executor});
    std::vector<TestType> x{0, 0};
    const report one = solver.solve({1, 1}, x);
    CHECK(one.reason() == reason::iteration_limit);
    CHECK((x == std::vector<TestType>{0, 0}));
    CHECK(one.residual_norm() == Approx(std::sqrt(2.0)));
    solver.set_max_iterations(10);
    const report two = solver.solve({1, 1}, x);
    CHECK(two.reason() == reason::converged_rtol);
    CHECK(two.iterations() == 2);
    CHECK(std::abs(x[0] - 1) <= few);
    CHECK(std::abs(x[1] + 1) <= few);
  }
}

TEST_CASE("minres has the least residual of the Krylov space", "[linear][minres]") {
  const auto A = saddle_point<double>(30, 12);
  const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    for (int k = 1; k <= 20; ++k) {
      INFO(executor << ", k = " << k);
      std::vector<double> x(b.size(), 0);
      const report r =
          linear_solver<double>(A, {.method = "minres", .max_iterations = k, .executor = executor}).solve(b, x);
      CHECK(r.iterations() == k);
      const double least = least_residual(dense, to_eigen(b), k);
      CHECK(r.residual_norm() == Approx(least).epsilon(1e-10));
      CHECK((to_eigen(b) - dense * to_eigen(x)).norm() == Approx(least).epsilon(1e-10));
      for (std::size_t i = 1; i < r.history().size(); ++i)
        CHECK(r.history()[i].residual_norm <= r.history()[i - 1].residual_norm * (1 + 1e-12));
    }
  }
}

TEMPLATE_TEST_CASE("minres solves indefinite systems", "[linear][minres][sanitizer]", float, double) {
  // Restarts reach what a residual in TestType can tell; 1000 roundings of a sum of 5 are far above that.
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  const auto helmholtz = whilst::make_gallery<TestType>("helmholtz2d:20").matrix;
  for (const auto& A : {saddle_point<TestType>(300, 40), helmholtz}) {
    const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(dense, Eigen::EigenvaluesOnly);
    REQUIRE(spectrum.eigenvalues().minCoeff() < 0);
    REQUIRE(spectrum.eigenvalues().maxCoeff() > 0);
    const double smallest = spectrum.eigenvalues().cwiseAbs().minCoeff();
    const std::vector<TestType> b = random_vector<TestType>(A.rows(), 8);
    const Eigen::VectorXd exact = dense.lu().solve(to_eigen(b));
    for (const std::string& executor : executors_with_steps()) {
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", " << preconditioner << ", " << A.rows() << " rows");
        linear_solver<TestType> solver(
            A, {.method = "minres", .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
        std::vector<TestType> x(b.size(), 0);
        const report r = solver.solve(b, x);
        CHECK(r.converged());
        const double residual = relative_residual(A, b, x);
        CHECK(residual <= 1.01 * rtol);
        CHECK((to_eigen(x) - exact).norm() <= 1.01 * residual * to_eigen(b).norm() / smallest + 1e-10 * exact.norm());
        // A warm start is done at once.
        const std::vector<TestType> found = x;
        solver.set_tolerances(2 * rtol, 0);
        CHECK(solver.solve(b, x).iterations() == 0);
        CHECK((x == found));
      }
    }
  }
}

TEST_CASE("how minres ends where it must fail", "[linear][minres]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const auto A = saddle_point<double>(4, 2);
    std::vector<double> x(6, 0.0);
    const std::vector<double> b(6, 1.0);
    if (executor == "host") {
      const auto negate = [](whilst::stream_handle, index_type n, const double* r, double* z) {
        for (index_type i = 0; i < n; ++i) z[i] = -r[i];
      };
      const report negative = linear_solver<double>(A, negate, {.method = "minres", .executor = executor}).solve(b, x);
      CHECK(negative.reason() == reason::indefinite_preconditioner);
      CHECK((x == std::vector<double>(6, 0.0)));
      // M that maps all to 0, or all but the first entry: semidefinite.
      for (const index_type kept : {0, 1}) {
        const auto project = [kept](whilst::stream_handle, index_type n, const double* r, double* z) {
          for (index_type i = 0; i < n; ++i) z[i] = i < kept ? r[i] : 0;
        };
        const report none = linear_solver<double>(A, project, {.method = "minres", .executor = executor}).solve(b, x);
        CHECK(none.reason() == reason::breakdown);
        for (const double value : x) CHECK(std::isfinite(value));
      }
    }
    // diag(1, 0): b = (1, 0) is in its range, b = (1, 1) is not; then x = (1, anything) has the least residual, 1.
    triplets<double> t(2);
    t.row({{0, 1}});
    t.row({{1, 0}});
    linear_solver<double> singular(t.matrix(), {.method = "minres", .max_iterations = 50, .executor = executor});
    std::vector<double> y(2, 0.0);
    CHECK(singular.solve({1, 0}, y).converged());
    CHECK((y == std::vector<double>{1, 0}));
    y = {0, 0};
    const report impossible = singular.solve({1, 1}, y);
    CHECK(impossible.reason() == reason::breakdown);
    CHECK(impossible.residual_norm() <= std::sqrt(2.0));
    for (const double value : y) CHECK(std::isfinite(value));
  }
}

TEMPLATE_TEST_CASE("minres sees that there is no solution", "[linear][minres][sanitizer]", float, double) {
  // diag(0, 1, 0, 2, ...): half of b is out of reach.
  triplets<TestType> halves(64);
  for (int i = 0; i < 64; ++i) halves.row({{i, i % 2 == 0 ? 0.0 : (i + 1) / 2 % 4 + 1.0}});
  const double epsilon = static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const auto& A : {halves.matrix(), whilst::make_gallery<TestType>("neumann2d:9").matrix,
                        whilst::make_gallery<TestType>(under_sanitizers ? "neumann2d:17" : "neumann2d:24").matrix}) {
    const std::vector<TestType> b = random_vector<TestType>(A.rows(), 4);
    const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
    for (const char* preconditioner : {"none", "jacobi"}) {
      const bool is_scaled = preconditioner == std::string("jacobi");
      if (is_scaled && A.rows() == 64) continue;  // whose diagonal has zeros
      // The norm that is least is that of M.
      const Eigen::VectorXd weights =
          is_scaled ? dense.diagonal().cwiseSqrt().cwiseInverse().eval() : Eigen::VectorXd::Ones(dense.rows()).eval();
      const Eigen::MatrixXd weighted = weights.asDiagonal() * dense * weights.asDiagonal();
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(weighted);
      const Eigen::VectorXd of_b = spectrum.eigenvectors().transpose() * (weights.asDiagonal() * to_eigen(b));
      double least_squared = 0, smallest = HUGE_VAL;
      for (Eigen::Index k = 0; k < of_b.size(); ++k) {
        const double size = std::abs(spectrum.eigenvalues()[k]);
        if (size < 1e-10) {
          least_squared += of_b[k] * of_b[k];
        } else if (size < smallest) {
          smallest = size;
        }
      }
      const double condition = spectrum.eigenvalues().maxCoeff() / smallest;
      for (const std::string& executor : executors()) {
        INFO(executor << ", " << preconditioner << ", " << A.rows() << " rows");
        linear_solver<TestType> solver(A, {.method = "minres",
                                           .preconditioner = preconditioner,
                                           .rtol = 10 * epsilon,
                                           .max_iterations = 100000,
                                           .executor = executor});
        std::vector<TestType> x(b.size(), 0);
        const report r = solver.solve(b, x);
        const bool in_double = std::is_same_v<TestType, double>;
        CHECK((r.reason() == reason::breakdown || (!in_double && r.reason() == reason::attainable_accuracy)));
        // Until A r is about zero, as many again, and 100.
        CHECK(r.iterations() <= 2 * A.rows() + 110);
        // Steps lower ||r|| by sqrt(256 epsilon), so A r is about that: so far is r from the least one where A is not
        // zero. In float that is no bound, and x may be the first one.
        const Eigen::VectorXd left = weights.asDiagonal() * (to_eigen(b) - dense * to_eigen(x));
        const double bound =
            in_double ? (1 + 256 * epsilon * condition * condition) * least_squared : of_b.squaredNorm();
        CHECK(left.squaredNorm() <= bound * (1 + 1e-6));
      }
    }
  }
}

TEMPLATE_TEST_CASE("a few large eigenvalues do not make minres give up", "[linear][minres]", float, double) {
  // Boundary values by a penalty: beside it, the rest of A is nearly rounding in float.
  const auto plain = whilst::make_gallery<TestType>("poisson2d:60").matrix;
  std::vector<TestType> values(plain.values().begin(), plain.values().end());
  for (index_type i = 0; i < plain.rows(); i += 60)
    for (index_type k = plain.row_offset(i); k < plain.row_offset(i + 1); ++k)
      if (plain.column_indices()[static_cast<std::size_t>(k)] == i) values[static_cast<std::size_t>(k)] = 1e5;
  const csr_matrix<TestType> A(plain.rows(), plain.columns(), plain.row_offsets_32(), plain.column_indices(), values);
  const std::vector<TestType> b = random_vector<TestType>(A.rows(), 6);
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<TestType> solver(A, {.method = "minres", .rtol = 1e-4, .executor = executor});
    std::vector<TestType> x(b.size(), 0);
    const report r = solver.solve(b, x);
    CHECK(r.converged());
    CHECK(relative_residual(A, b, x) <= 1.01e-4);
    // 210 in double, and 239 to 276 in float, as roundings fall, if nothing ends the loop early. A restart for a least
    // residual would come after 100 or more of them, and begin anew.
    CHECK(r.iterations() <= 320);
  }
}

TEST_CASE("minres does not give up on an eigenvalue that is tiny", "[linear][minres]") {
  // After three steps the residual is the eigenvector of 1e-10, as if that were 0.
  const int n = 100;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) t.row({{i, i == 0 ? 1e-10 : i % 3 == 0 ? -2.0 : 1.0 + i % 3}});
  const csr_matrix<double> A = t.matrix();
  const std::vector<double> b = random_vector<double>(n, 6);
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<double> solver(A, {.method = "minres", .rtol = 1e-4, .executor = executor});
    std::vector<double> x(b.size(), 0);
    CHECK(solver.solve(b, x).converged());
    CHECK(relative_residual(A, b, x) <= 1e-4 * (1 + 1e-10));
  }
}

}  // namespace whilst_test
