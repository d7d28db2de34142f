#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/linear_operator.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

namespace {

template <class T>
constexpr double deflation_epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

std::vector<double> columns_of(const Eigen::MatrixXd& Z) { return {Z.data(), Z.data() + Z.size()}; }

Eigen::MatrixXd dense_of(const csr_matrix<double>& A) { return Eigen::MatrixXd(to_eigen(A)); }

/// Eigenvectors of the eigenvalues of least size, mixed so that they are neither normed nor orthogonal.
Eigen::MatrixXd slowest_modes(const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>& all, int count) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(all.eigenvalues().size()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Eigen::Index>(i);
  std::ranges::sort(order, {}, [&](Eigen::Index i) { return std::abs(all.eigenvalues()[i]); });
  Eigen::MatrixXd Z(all.eigenvalues().size(), count);
  for (int k = 0; k < count; ++k) {
    Z.col(k) = (1 + k) * all.eigenvectors().col(order[static_cast<std::size_t>(k)]);
    if (k > 0) Z.col(k) += 0.5 * Z.col(k - 1);
  }
  return Z;
}
Eigen::MatrixXd slowest_modes(const Eigen::MatrixXd& A, int count) {
  return slowest_modes(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(A), count);
}

/// ||r|| after each iteration of preconditioned conjugate gradients, with the dense matrix M.
std::vector<double> dense_cg(const Eigen::MatrixXd& A, const Eigen::MatrixXd& M, Eigen::VectorXd r, int iterations) {
  std::vector<double> norms{r.norm()};
  Eigen::VectorXd z = M * r, p = z;
  for (int k = 0; k < iterations; ++k) {
    const Eigen::VectorXd q = A * p;
    const double rz = r.dot(z), alpha = rz / p.dot(q);
    r -= alpha * q;
    z = M * r;
    p = z + r.dot(z) / rz * p;
    norms.push_back(r.norm());
  }
  return norms;
}

/// The least ||r - A M y|| of a Krylov space after each iteration: GMRES.
std::vector<double> dense_gmres(const Eigen::MatrixXd& AM, const Eigen::VectorXd& r, int iterations) {
  std::vector<double> norms{r.norm()};
  Eigen::MatrixXd basis = r.normalized();
  for (int k = 0; k < iterations; ++k) {
    const Eigen::MatrixXd images = AM * basis;
    norms.push_back((r - images * images.colPivHouseholderQr().solve(r)).norm());
    Eigen::VectorXd next = images.col(k);
    for (int pass = 0; pass < 2; ++pass) next -= basis * (basis.transpose() * next);
    basis.conservativeResize(Eigen::NoChange, k + 2);
    basis.col(k + 1) = next.normalized();
  }
  return norms;
}

/// What deflation.hpp says, with the diagonal of M.
Eigen::MatrixXd deflated(const Eigen::MatrixXd& A, const Eigen::VectorXd& M, const Eigen::MatrixXd& Z, bool symmetric) {
  const Eigen::MatrixXd AZ = A * Z, by_E = (Z.transpose() * AZ).inverse() * Z.transpose(), Q = Z * by_E;
  const Eigen::MatrixXd P = Eigen::MatrixXd::Identity(A.rows(), A.rows()) - AZ * by_E, MP = M.asDiagonal() * P;
  if (!symmetric) return MP + Q;
  return MP - by_E.transpose() * (AZ.transpose() * MP) + Q;  // P^T M P + Q, by products of few columns
}

void check_history(const report& told, const std::vector<double>& norms) {
  REQUIRE(told.history().size() >= norms.size());
  // Both round each entry of vectors; conjugacy loses some digits in a dozen iterations.
  constexpr double allowed = 1e-8;
  for (std::size_t k = 0; k < norms.size(); ++k) {
    INFO("iteration " << k);
    CHECK(told.history()[k].iteration == static_cast<index_type>(k));
    CHECK(std::abs(told.history()[k].residual_norm - norms[k]) <= allowed * norms[0]);
  }
}

template <class T>
csr_matrix<T> gallery(const char* name) {
  return whilst::make_gallery<T>(name).matrix;
}

}  // namespace

TEMPLATE_TEST_CASE("deflation of all there is solves in one application", "[linear][deflation][sanitizer]", float,
                   double) {
  // Rows of 2 and -1, and one of 4: by hand, x = (1, 2, 3) / 4 at the ends of b = (0, 0, 1).
  triplets<TestType> t(3);
  t.row({{0, 2}, {1, -1}});
  t.row({{0, -1}, {1, 2}, {2, -1}});
  t.row({{1, -1}, {2, 2}});
  triplets<TestType> single(1);
  single.row({{0, -4}});
  const double few = 20 * deflation_epsilon<TestType>;
  for (const std::string& executor : executors_with_steps()) {
    for (const std::string& method : methods_on("host")) {
      INFO(executor << ", " << method);
      linear_solver<TestType> solver(
          t.matrix(), {.method = method, .deflation = {1, 0, 0, 1, 1, 0, 1, 1, 1}, .rtol = few, .executor = executor});
      std::vector<TestType> x(3, 0), b{0, 0, 1};
      const report told = solver.solve(b, x);
      CHECK(told.converged());
      CHECK(told.iterations() <= 2);
      for (int i = 0; i < 3; ++i)
        CHECK(std::abs(static_cast<double>(x[static_cast<std::size_t>(i)]) - (1 + i) / 4.0) <= few);
      linear_solver<TestType> of_one(single.matrix(),
                                     {.method = method, .deflation = {-3}, .rtol = few, .executor = executor});
      std::vector<TestType> y(1, 7);
      CHECK(of_one.solve(std::vector<TestType>{8}, y).converged());
      CHECK(y[0] == Approx(-2).epsilon(few));
    }
  }
}

TEST_CASE("deflated iterations are those of the dense formulas", "[linear][deflation]") {
  constexpr int steps = 10;
  const csr_matrix<double> A = gallery<double>("anisotropic2d:18");  // more rows than a block
  const auto n = static_cast<int>(A.rows());
  const Eigen::MatrixXd dense = dense_of(A);
  const std::vector<double> b = random_vector<double>(n, 3);
  for (const int count : {1, 5, 6, 7, 20}) {  // a step makes 6 products
    const std::vector<double> Z = random_vector<double>(static_cast<index_type>(n) * count, 4);
    const Eigen::MatrixXd of_Z = Eigen::Map<const Eigen::MatrixXd>(Z.data(), n, count);
    // With M, the iterates do not depend on the power of two by which a solve multiplies A.
    const Eigen::VectorXd M = dense.diagonal().cwiseInverse();
    for (const std::string& executor : executors_with_steps()) {
      INFO(count << " vectors, " << executor);
      linear_solver_options options{
          .preconditioner = "jacobi", .deflation = Z, .rtol = 1e-12, .max_iterations = 25, .executor = executor};
      linear_solver<double> symmetric(A, options);
      std::vector<double> x(b.size(), 0);
      check_history(symmetric.solve(b, x), dense_cg(dense, deflated(dense, M, of_Z, true), to_eigen(b), steps));
      options.method = "gmres";
      linear_solver<double> any(A, options);
      x.assign(x.size(), 0);
      check_history(any.solve(b, x), dense_gmres(to_eigen(A) * deflated(dense, M, of_Z, false), to_eigen(b), steps));
    }
  }
}

TEMPLATE_TEST_CASE("iterations fall to those of the spectrum without the slowest modes", "[linear][deflation]", float,
                   double) {
  const char* const problem = under_sanitizers ? "poisson2d:17" : "poisson2d:24";
  const csr_matrix<TestType> A = gallery<TestType>(problem);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(dense_of(gallery<double>(problem)));
  constexpr int modes = 8;
  const Eigen::MatrixXd Z = slowest_modes(spectrum, modes);
  const Eigen::VectorXd& values = spectrum.eigenvalues();
  const double rtol = 100 * deflation_epsilon<TestType>;
  // ||r_k|| <= 2 sqrt(K) c^k ||r_0||: Saad (2003), (6.128), and the energy norm's part in it.
  const double condition = values[values.size() - 1] / values[modes], root = std::sqrt(condition);
  const double bound = std::log(2 * root / rtol) / std::log((root + 1) / (root - 1));
  const std::vector<TestType> b = random_vector<TestType>(A.rows(), 5);
  for (const std::string& executor : executors_with_steps()) {
    for (const std::string& method : methods_on("host")) {
      for (const char* M : {"none", "jacobi", "amg,coarsest_rows=64", "block_jacobi,rows=8", "chebyshev"}) {
        // Each method, and each M, in one number type or the other.
        if (under_sanitizers && method != "cg" && M != std::string(sizeof(TestType) == 8 ? "jacobi" : "none")) continue;
        INFO(executor << ", " << method << ", " << M);
        linear_solver_options options{.method = method, .preconditioner = M, .rtol = rtol, .executor = executor};
        linear_solver<TestType> plain(A, options);
        options.deflation = columns_of(Z);
        linear_solver<TestType> solver(A, options);
        std::vector<TestType> x(b.size(), 0), y = x, again = x;
        const report without = plain.solve(b, y), told = solver.solve(b, x);
        CHECK(told.converged());
        CHECK(relative_residual(A, b, x) <= 1.1 * rtol);
        // With M in float, pipelined-cg restarts for a tolerance like that.
        if (method != "pipelined-cg" || M[0] != 'a') CHECK(told.iterations() <= without.iterations());
        const bool is_plain = M == std::string("none") || M == std::string("jacobi");
        if (method == "cg" && is_plain) {
          CHECK(told.iterations() <= bound + 1);
          CHECK(5 * told.iterations() < 4 * without.iterations());
        }
        solver.solve(b, again);
        CHECK((again == x));
        // A warm start.
        CHECK(solver.solve(b, again).iterations() <= (sizeof(TestType) == 4 ? 3 : 1));
      }
    }
  }
}

TEST_CASE("an indefinite matrix, and E too", "[linear][deflation]") {
  // A Laplacian shifted into its spectrum: eigenvalues of least size have both signs.
  const csr_matrix<double> shifted = [] {
    const csr_matrix<double> A = gallery<double>("poisson2d:15");
    std::vector<double> values(A.values().begin(), A.values().end());
    for (index_type i = 0; i < A.rows(); ++i)
      for (index_type e = A.row_offset(i); e < A.row_offset(i + 1); ++e)
        if (A.column_indices()[static_cast<std::size_t>(e)] == i) values[static_cast<std::size_t>(e)] -= 0.41;
    return csr_matrix<double>(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values);
  }();
  const Eigen::MatrixXd Z = slowest_modes(dense_of(shifted), 10);
  const Eigen::VectorXd of_E =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(Z.transpose() * dense_of(shifted) * Z).eigenvalues();
  REQUIRE(of_E[0] < 0);
  REQUIRE(of_E[9] > 0);
  const std::vector<double> b = random_vector<double>(shifted.rows(), 6);
  for (const std::string& executor : executors_with_steps()) {
    for (const std::string& method : methods_on("host", matrix_kind::indefinite)) {
      INFO(executor << ", " << method);
      linear_solver_options options{.method = method, .preconditioner = "jacobi", .executor = executor};
      linear_solver<double> plain(shifted, options);
      options.deflation = columns_of(Z);
      linear_solver<double> solver(shifted, options);
      std::vector<double> x(b.size(), 0), y = x;
      const report told = solver.solve(b, x), without = plain.solve(b, y);
      CHECK(told.converged());
      CHECK(relative_residual(shifted, b, x) <= 1.01e-8);
      CHECK(told.iterations() < without.iterations());
    }
  }
}

TEMPLATE_TEST_CASE("an unsymmetric matrix; a singular E", "[linear][deflation]", float, double) {
  const csr_matrix<TestType> A = convection_diffusion<TestType>(700);
  constexpr int parts = 10;  // ones on each of so many pieces of the line
  std::vector<double> Z(700 * parts, 0);
  for (std::size_t i = 0; i < 700; ++i) Z[700 * (i / 70) + i] = 1;
  // The rotation by a right angle in each plane: z'A z is 0 for every z, and with it E.
  triplets<TestType> t(8);
  for (int i = 0; i < 8; i += 2) {
    t.row({{i + 1, 1.0 + i}});
    t.row({{i, -1.0 - i}});
  }
  const double rtol = 1000 * deflation_epsilon<TestType>;
  for (const std::string& executor : executors_with_steps()) {
    for (const char* method : {"bicgstab", "bicgstabl", "gmres", "fgmres", "idr", "tfqmr", "cgs"}) {
      INFO(executor << ", " << method);
      if (sizeof(TestType) == 4 && (method == std::string("tfqmr") || method == std::string("cgs")))
        continue;  // without deflation, too, they find no solution in float
      const std::vector<TestType> b = random_vector<TestType>(700, 7);
      linear_solver<TestType> solver(
          A, {.method = method, .preconditioner = "jacobi", .deflation = Z, .rtol = rtol, .executor = executor});
      std::vector<TestType> x(b.size(), 3);
      CHECK(solver.solve(b, x).converged());
      CHECK(relative_residual(A, b, x) <= 1.1 * rtol);
    }
    INFO(executor);
    linear_solver<TestType> turned(
        t.matrix(), {.method = "gmres", .deflation = {1, 2, 3, 4, 5, 6, 7, 8}, .rtol = rtol, .executor = executor});
    std::vector<TestType> x(8, 0), b{1, 0, 2, 0, 3, 0, 4, 1};
    CHECK(turned.solve(b, x).converged());
    CHECK(relative_residual(t.matrix(), b, x) <= 1.1 * rtol);
  }
}

TEST_CASE("deflation follows new values, and old ones bring the old bits back", "[linear][deflation][sanitizer]") {
  const csr_matrix<double> A = gallery<double>("poisson2d:14");
  const std::vector<double> Z = columns_of(slowest_modes(dense_of(A), 5));
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  std::vector<double> old(A.values().begin(), A.values().end()), other = old;
  // Negative definite, with other modes.
  for (index_type i = 0; i < A.rows(); ++i)
    for (auto e = static_cast<std::size_t>(A.row_offset(i)); e < static_cast<std::size_t>(A.row_offset(i + 1)); ++e)
      other[e] *= -(1.0 + static_cast<double>(i % 5)) * (1 + A.column_indices()[e] % 5);
  const csr_matrix<double> of_other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), other);
  std::vector<double> broken = old;
  broken[3] = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& executor : executors_with_steps()) {
    for (const char* method : {"cg", "gmres"}) {
      INFO(executor << ", " << method);
      const linear_solver_options options{
          .method = method, .preconditioner = "jacobi", .deflation = Z, .restart = 100, .executor = executor};
      linear_solver<double> solver(A, options), fresh(of_other, options);
      std::vector<double> x(b.size(), 0), y = x, again = x;
      const report first = solver.solve(b, x);
      CHECK(first.converged());
      solver.update_values(other);
      const report second = solver.solve(b, y);
      CHECK(second.converged());
      CHECK(relative_residual(of_other, b, y) <= 1.01e-8);
      fresh.solve(b, again);
      CHECK((again == y));
      again.assign(again.size(), 0);
      solver.update_values(broken);
      std::vector<double> bad(b.size(), 0);
      CHECK(solver.solve(b, bad).reason() == whilst::reason::nan_or_infinity);
      solver.update_values(old);
      solver.solve(b, again);
      CHECK((again == x));
    }
  }
}

TEST_CASE("deflation beside a null space, formats, operators, auto and whilst::solve", "[linear][deflation]") {
  const csr_matrix<double> A = gallery<double>("neumann2d:16"), B = gallery<double>("poisson2d:16");
  // The slowest modes but for the constant one.
  const std::vector<double> of_A = columns_of(slowest_modes(dense_of(A), 6).rightCols(5)),
                            of_B = columns_of(slowest_modes(dense_of(B), 5));
  std::vector<double> b = random_vector<double>(A.rows(), 9);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    for (const char* method : {"cg", "gmres"}) {
      linear_solver_options options{.method = method, .null_space = "constant", .executor = executor};
      std::vector<double> x(b.size(), 1), y = x;
      const report without = linear_solver<double>(A, options).solve(b, x);
      options.deflation = of_A;
      const report told = linear_solver<double>(A, options).solve(b, y);
      CHECK(told.converged());
      CHECK(told.iterations() < without.iterations());
      CHECK((to_eigen(x) - to_eigen(y)).norm() <= 1e-5 * to_eigen(x).norm());
    }
    for (const char* format : {"csr", "sell", "ell", "balanced"}) {
      INFO(format);
      linear_solver<double> solver(B, {.deflation = of_B, .format = format, .executor = executor});
      std::vector<double> x(b.size(), 0);
      CHECK(solver.solve(b, x).converged());
      CHECK(relative_residual(B, b, x) <= 1.01e-8);
    }
    for (const char* M : {"auto", "ic", "jacobi"}) {
      INFO(M);
      linear_solver<double> solver(B, {.method = "auto", .preconditioner = M, .deflation = of_B, .executor = executor});
      std::vector<double> x(b.size(), 0);
      CHECK(solver.solve(b, x).converged());
      CHECK(relative_residual(B, b, x) <= 1.01e-8);
    }
    // Two sets of vectors are two recordings.
    std::vector<double> x(b.size(), 0), y = x, z = x;
    const report with = whilst::solve(B, b, x, {.deflation = of_B, .executor = executor});
    const report without = whilst::solve(B, b, y, {.executor = executor});
    CHECK(with.iterations() < without.iterations());
    CHECK(whilst::solve(B, b, z, {.deflation = of_B, .executor = executor}).iterations() == with.iterations());
    CHECK((z == x));
  }
  const auto product = [&](whilst::stream_handle, index_type, const double* x, double* y) {
    const Eigen::Map<const Eigen::VectorXd> of_x(x, B.rows());
    Eigen::Map<Eigen::VectorXd>(y, B.rows()) = to_eigen(B) * of_x;
  };
  for (const char* method : {"cg", "bicgstab"}) {
    linear_solver<double> plain(B.rows(), product, {.method = method, .callback_memory = "host"}),
        solver(B.rows(), product, {.method = method, .deflation = of_B, .callback_memory = "host"});
    std::vector<double> x(b.size(), 0), y = x;
    CHECK(solver.solve(b, x).iterations() < plain.solve(b, y).iterations());
    CHECK(relative_residual(B, b, x) <= 1.01e-8);
  }
}

TEST_CASE("two deflated solvers at once, and their memory", "[linear][deflation]") {
  const csr_matrix<double> A = gallery<double>("poisson2d:16");
  const std::vector<double> Z = columns_of(slowest_modes(dense_of(A), 4));
  const std::vector<double> b = random_vector<double>(A.rows(), 10);
  for (const std::string& executor : executors_with_steps()) {
    linear_solver<double> one(A, {.deflation = Z, .executor = executor}),
        other(A, {.method = "bicgstab", .deflation = Z, .executor = executor});
    std::vector<double> alone(b.size(), 0), beside = alone, y = alone;
    one.solve(b, alone);
    std::thread second([&] { other.solve(b, y); });
    one.solve(b, beside);
    second.join();
    CHECK((beside == alone));
    CHECK(relative_residual(A, b, y) <= 1.01e-8);
    bool is_listed = false;
    for (const auto& item : one.memory().items)
      if (item.name == "the vectors of deflation")
        is_listed = item.bytes >= 3 * 4 * b.size() * sizeof(double);  // Z, Z in E's basis, A Z
    CHECK(is_listed);
  }
}

}  // namespace whilst_test
