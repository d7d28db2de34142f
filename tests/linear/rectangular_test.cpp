// lsqr, lsmr and cgls: least squares, matrices of any shape.
#include <array>
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/eigen.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::reason;
using whilst::report;

namespace {

constexpr std::array methods{"lsqr", "lsmr", "cgls"};

/// Four entries a row, of full rank; columns of different lengths.
template <class T>
csr_matrix<T> scattered(int rows, int columns, unsigned seed = 3) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<std::int32_t> offsets{0}, indices;
  std::vector<T> values;
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < 4; ++k) {
      const int j = k == 0 ? i % columns : static_cast<int>(generator() % static_cast<unsigned>(columns));
      indices.push_back(j);
      values.push_back(static_cast<T>((k == 0 ? 3 : value(generator)) * (1 + j % 5)));
    }
    offsets.push_back(static_cast<std::int32_t>(indices.size()));
  }
  return {rows, columns, offsets, indices, values};
}

/// What a solve should find: the least-squares solution of least norm.
template <class T>
Eigen::VectorXd least_squares(const csr_matrix<T>& A, const std::vector<T>& b) {
  return Eigen::MatrixXd(to_eigen(A)).completeOrthogonalDecomposition().solve(to_eigen(b));
}

/// The inverse of the diagonal of A'A, which "jacobi" is; or the identity.
Eigen::VectorXd inverse_squares(const Eigen::MatrixXd& A, const std::string& preconditioner) {
  if (preconditioner == "none") return Eigen::VectorXd::Ones(A.cols());
  const Eigen::VectorXd squares = A.colwise().squaredNorm();
  return (squares.array() > 0).select(squares.cwiseInverse(), 1);  // an empty column stays
}

/// What iteration k is by definition: of all x in the Krylov space of M A'A and M A'b the one that makes ||b - A x||
/// (lsqr, cgls) or (A'r, M A'r) (lsmr) least. From an orthonormal basis and a dense QR.
Eigen::VectorXd iterate(const std::string& method, int k, const Eigen::MatrixXd& A, const Eigen::VectorXd& M,
                        const Eigen::VectorXd& b) {
  Eigen::MatrixXd basis(A.cols(), k);
  Eigen::VectorXd next = M.asDiagonal() * (A.transpose() * b);
  for (int j = 0; j < k; ++j) {
    for (int twice = 0; twice < 2; ++twice) next -= basis.leftCols(j) * (basis.leftCols(j).transpose() * next).eval();
    basis.col(j) = next.normalized();
    next = M.asDiagonal() * (A.transpose() * (A * basis.col(j)));
  }
  const Eigen::MatrixXd image = A * basis;
  if (method != "lsmr") return basis * image.householderQr().solve(b);
  const Eigen::VectorXd root = M.cwiseSqrt();
  const Eigen::MatrixXd normal = root.asDiagonal() * (A.transpose() * image);
  return basis * normal.householderQr().solve(root.asDiagonal() * (A.transpose() * b));
}

template <class T>
struct norms {
  double residual, normal, ratio_at_b;
  norms(const csr_matrix<T>& A, const std::vector<T>& b, const std::vector<T>& x) {
    const auto matrix = to_eigen(A);
    const Eigen::VectorXd be = to_eigen(b), r = be - matrix * to_eigen(x);
    residual = r.norm();
    normal = (matrix.transpose() * r).norm();
    ratio_at_b = (matrix.transpose() * be).norm() / be.norm();
  }
};

}  // namespace

TEST_CASE("iterates of lsqr, lsmr and cgls are the best of their Krylov space", "[linear][rectangular]") {
  for (const auto& [rows, columns] : {std::pair(50, 50), std::pair(60, 40), std::pair(40, 60)}) {
    const auto A = scattered<double>(rows, columns);
    const Eigen::MatrixXd dense = Eigen::MatrixXd(to_eigen(A));
    const std::vector<double> b = random_vector<double>(rows, 4);
    for (const char* preconditioner : {"none", "jacobi"}) {
      const Eigen::VectorXd M = inverse_squares(dense, preconditioner);
      for (const std::string method : methods)
        for (const std::string& executor : executors_with_steps())
          for (int k = 1; k <= 10; ++k) {
            INFO(method << ", " << executor << ", " << preconditioner << ", " << rows << " x " << columns
                        << ", k = " << k);
            std::vector<double> x(static_cast<std::size_t>(columns), 0.0);
            const report r = linear_solver<double>(A, {.method = method,
                                                       .preconditioner = preconditioner,
                                                       .rtol = 0,
                                                       .max_iterations = k,
                                                       .executor = executor})
                                 .solve(b, x);
            CHECK(r.reason() == reason::iteration_limit);
            CHECK(r.iterations() == k);
            const Eigen::VectorXd expected = iterate(method, k, dense, M, to_eigen(b));
            CHECK((to_eigen(x) - expected).norm() <= 1e-10 * expected.norm());
            const Eigen::VectorXd residual = to_eigen(b) - dense * expected;
            CHECK(r.residual_norm() == Approx(residual.norm()).epsilon(1e-8));
            CHECK(r.normal_residual_norm() == Approx((dense.transpose() * residual).norm()).epsilon(1e-8));
            REQUIRE(r.history().size() == static_cast<std::size_t>(k + 1));
            // The method's own, before any restart.
            CHECK(r.history().back().residual_norm == Approx(residual.norm()).epsilon(1e-8));
          }
    }
  }
}

TEMPLATE_TEST_CASE("least-squares solutions are those of a QR", "[linear][rectangular][sanitizer]", float, double) {
  const double rtol = 100 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const auto& [rows, columns] : {std::pair(300, 120), std::pair(120, 300), std::pair(200, 200)}) {
    const auto A = scattered<TestType>(rows, columns);
    const std::vector<TestType> b = random_vector<TestType>(rows, 8);
    const Eigen::VectorXd expected = least_squares(A, b);
    for (const std::string method : methods)
      for (const std::string& executor : executors_with_steps())
        for (const char* preconditioner : {"none", "jacobi"}) {
          INFO(method << ", " << executor << ", " << preconditioner << ", " << rows << " x " << columns);
          linear_solver<TestType> solver(
              A, {.method = method, .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
          std::vector<TestType> x(static_cast<std::size_t>(columns), 0);
          const report r = solver.solve(b, x);
          CHECK(r.reason() == (rows > columns ? reason::converged_normal : reason::converged_rtol));
          const norms<TestType> found(A, b, x);
          // What was recomputed in T differs from what is computed here by T's rounding.
          const double rounding = rtol * found.ratio_at_b;
          if (rows > columns) {
            CHECK(found.normal <= 2 * rtol * found.ratio_at_b * found.residual);
            CHECK(r.residual_norm() == Approx(found.residual).epsilon(rtol));
            CHECK(std::abs(r.normal_residual_norm() - found.normal) <= rounding * found.residual);
          } else {
            CHECK(found.residual <= 2 * rtol * r.rhs_norm());
          }
          // The condition of A is below 100; M changes which solution of many has the least norm.
          if (rows > columns || preconditioner == std::string("none"))
            CHECK((to_eigen(x) - expected).norm() <= 2e4 * rtol * expected.norm());
          // A warm start is done at once.
          const std::vector<TestType> before = x;
          solver.set_tolerances(4 * rtol, 0);
          const report again = solver.solve(b, x);
          CHECK(again.converged());
          CHECK(again.iterations() == 0);
          CHECK((x == before));
        }
  }
}

TEST_CASE("small least-squares problems, checked by hand", "[linear][rectangular]") {
  for (const std::string method : methods)
    for (const std::string& executor : executors_with_steps()) {
      INFO(method << ", " << executor);
      const whilst::linear_solver_options options{.method = method, .rtol = 1e-14, .executor = executor};
      // The mean of b.
      const csr_matrix<double> ones(3, 1, std::vector{0, 1, 2, 3}, std::vector{0, 0, 0}, std::vector{1.0, 1.0, 1.0});
      std::vector<double> mean(1, 0.0);
      const report r = linear_solver<double>(ones, options).solve({1, 2, 6}, mean);
      CHECK(r.reason() == reason::converged_normal);
      CHECK(r.iterations() == 1);
      CHECK(mean[0] == Approx(3));
      CHECK(r.residual_norm() == Approx(std::sqrt(14.0)));
      // The point of the line x + 2 y = 5 next to the origin.
      const csr_matrix<double> line(1, 2, std::vector{0, 2}, std::vector{0, 1}, std::vector{1.0, 2.0});
      std::vector<double> point(2, 0.0);
      CHECK(linear_solver<double>(line, options).solve({5}, point).reason() == reason::converged_rtol);
      CHECK(point[0] == Approx(1));
      CHECK(point[1] == Approx(2));
    }
}

TEST_CASE("without rows, columns or entries there is little to do", "[linear][rectangular]") {
  const std::vector<double> none;
  for (const std::string method : methods)
    for (const std::string& executor : executors_with_steps()) {
      INFO(method << ", " << executor);
      const whilst::linear_solver_options options{.method = method, .executor = executor};
      const auto empty = [](index_type rows, index_type columns) {
        return csr_matrix<double>(rows, columns, std::vector<int>(static_cast<std::size_t>(rows) + 1, 0),
                                  std::vector<int>(), std::vector<double>());
      };
      std::vector<double> x;
      CHECK(linear_solver<double>(empty(0, 0), options).solve(none, x).converged());
      CHECK(linear_solver<double>(empty(2, 0), options).solve({1, 2}, x).reason() == reason::converged_normal);
      x = {7, 8};
      CHECK(linear_solver<double>(empty(0, 2), options).solve(none, x).converged());
      CHECK((x == std::vector<double>{0, 0}));
      x = {0, 0};
      const report r = linear_solver<double>(empty(3, 2), options).solve({1, 2, 3}, x);
      CHECK(r.reason() == reason::converged_normal);
      CHECK((x == std::vector<double>{0, 0}));
    }
}

TEST_CASE("singular, hostile and limited least squares end with their reason", "[linear][rectangular][sanitizer]") {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const std::string method : methods)
    for (const std::string& executor : executors_with_steps()) {
      INFO(method << ", " << executor);
      whilst::linear_solver_options options{.method = method, .rtol = 1e-12, .executor = executor};
      // Of rank 3 with an empty row and an empty column: x has least norm.
      const csr_matrix<double> A(5, 5, std::vector{0, 2, 2, 4, 6, 8}, std::vector{0, 1, 0, 1, 2, 4, 4, 2},
                                 std::vector{1.0, 2.0, 2.0, 4.0, 1.0, -1.0, 3.0, 1.0});
      const std::vector<double> b{1, 2, 3, 4, 5};
      std::vector<double> x(5, 0.0);
      linear_solver<double> solver(A, options);
      CHECK(solver.solve(b, x).reason() == reason::converged_normal);
      CHECK((to_eigen(x) - least_squares(A, b)).norm() <= 1e-10);
      // b = 0, whatever x was.
      x.assign(5, 3.0);
      CHECK(solver.solve(std::vector<double>(5, 0.0), x).converged());
      CHECK((x == std::vector<double>(5, 0.0)));
      // b orthogonal to the columns of A.
      CHECK(solver.solve(std::vector<double>{0, 1, 0, 0, 0}, x).reason() == reason::converged_normal);
      CHECK((x == std::vector<double>(5, 0.0)));
      // Not numbers.
      for (const double bad : {nan, infinity}) {
        CHECK(solver.solve(std::vector<double>{1, bad, 3, 4, 5}, x).reason() == reason::nan_or_infinity);
        std::vector<double> start{0, 0, 0, bad, 0};  // of the empty column
        CHECK(solver.solve(b, start).reason() == reason::nan_or_infinity);
        const csr_matrix<double> not_finite(2, 1, std::vector{0, 1, 2}, std::vector{0, 0}, std::vector{1.0, bad});
        std::vector<double> one(1, 0.0);
        CHECK(linear_solver<double>(not_finite, options).solve({1, 1}, one).reason() == reason::nan_or_infinity);
        CHECK(std::isfinite(one[0]));
      }
      // A limit of 0 changes nothing.
      options.max_iterations = 0;
      x.assign(5, 0.25);
      CHECK(linear_solver<double>(A, options).solve(b, x).reason() == reason::iteration_limit);
      CHECK((x == std::vector<double>(5, 0.25)));
    }
}

TEMPLATE_TEST_CASE("least squares of any scale are solved", "[linear][rectangular]", float, double) {
  const auto plain = scattered<TestType>(60, 40);
  const std::vector<TestType> b = random_vector<TestType>(60, 9);
  const Eigen::VectorXd expected = least_squares(plain, b);
  const double rtol = 100 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  const double far = sizeof(TestType) == 4 ? 1e15 : 1e140;
  for (const double of_A : {1 / far, 1.0, far})
    for (const double of_b : {1 / far, 1.0, far}) {
      std::vector<TestType> values(plain.values().begin(), plain.values().end()), scaled = b;
      for (TestType& value : values) value = static_cast<TestType>(value * of_A);
      for (TestType& value : scaled) value = static_cast<TestType>(value * of_b);
      const csr_matrix<TestType> A(60, 40, plain.row_offsets_32(), plain.column_indices(), values);
      for (const std::string method : methods)
        for (const char* preconditioner : {"none", "jacobi"}) {
          INFO(method << ", " << preconditioner << ", A times " << of_A << ", b times " << of_b);
          std::vector<TestType> x(40, 0);
          const report r =
              linear_solver<TestType>(
                  A, {.method = method, .preconditioner = preconditioner, .rtol = rtol, .executor = "host"})
                  .solve(scaled, x);
          CHECK(r.reason() == reason::converged_normal);
          CHECK((to_eigen(x) * (of_A / of_b) - expected).norm() <= 2e4 * rtol * expected.norm());
        }
    }
}

TEST_CASE("least squares return the x that they call converged", "[linear][rectangular]") {
  // ||A'r|| rises in the first step, and ||r|| falls below the tolerance.
  for (const auto& [small, first, rtol] :
       {std::tuple(1e-10, 1e-29, 1e-8), std::tuple(1e-5, 1e-13, 1e-2), std::tuple(1e-5, 1e-13, 1e-9)}) {
    triplets<double> t(2);
    t.row({{0, 1}});
    t.row({{1, small}});
    const std::vector<double> b{first, 1};
    for (const std::string method : methods)
      for (const std::string& executor : executors_with_steps()) {
        INFO(method << ", " << executor << ", " << small);
        std::vector<double> x(2, 0.0);
        const report r =
            linear_solver<double>(t.matrix(), {.method = method, .rtol = rtol, .executor = executor}).solve(b, x);
        const norms<double> found(t.matrix(), b, x);
        CHECK(r.residual_norm() == Approx(found.residual).epsilon(1e-6));
        if (r.reason() == reason::converged_rtol) CHECK(found.residual <= 1.01 * rtol);
        if (r.reason() == reason::converged_normal)
          CHECK(found.normal <= 1.01 * rtol * found.ratio_at_b * found.residual);
        CHECK(r.converged());
      }
  }
}

TEST_CASE("least squares of a matrix that is known by its products", "[linear][rectangular]") {
  const auto A = scattered<double>(70, 30);
  const auto matrix = to_eigen(A);
  const std::vector<double> b = random_vector<double>(70, 5);
  const Eigen::VectorXd expected = least_squares(A, b);
  using vector = Eigen::Map<Eigen::VectorXd>;
  using const_vector = Eigen::Map<const Eigen::VectorXd>;
  const auto times = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    REQUIRE(n == 70);
    vector(y, 70) = matrix * const_vector(x, 30);
  };
  const auto transposed = [&](whilst::stream_handle, index_type n, const double* x, double* y) {
    REQUIRE(n == 30);
    vector(y, 30) = matrix.transpose() * const_vector(x, 70);
  };
  for (const std::string method : {"lsqr", "lsmr", "cgls", "auto"}) {
    INFO(method);
    std::vector<double> x(30, 0.0);
    const whilst::linear_solver_options options{.method = method, .rtol = 1e-12, .callback_memory = "host"};
    linear_solver<double> solver(70, 30, times, transposed, options);
    const report r = solver.solve(b, x);
    CHECK(r.reason() == reason::converged_normal);
    CHECK((to_eigen(x) - expected).norm() <= 1e-9 * expected.norm());
    if (method == "auto") CHECK(r.choice() == "lsqr, since the matrix is not square");
  }
  // A preconditioner of one's own, and what is wrong with some.
  const auto ends = [&](const std::string& method, double factor) {
    const auto M = [factor](whilst::stream_handle, index_type n, const double* r, double* z) {
      for (index_type j = 0; j < n; ++j) z[j] = factor * r[j];
    };
    std::vector<double> x(30, 0.0);
    const report r =
        linear_solver<double>(A, M, {.method = method, .rtol = 1e-12, .callback_memory = "host"}).solve(b, x);
    if (r.converged()) CHECK((to_eigen(x) - expected).norm() <= 1e-9 * expected.norm());
    for (const double value : x) CHECK(std::isfinite(value));
    return r.reason();
  };
  for (const std::string method : methods) {
    INFO(method);
    CHECK(ends(method, 0.01) == reason::converged_normal);
    CHECK(ends(method, -1) == reason::indefinite_preconditioner);
    CHECK(ends(method, 0) == reason::breakdown);
    CHECK(ends(method, std::nan("")) == reason::nan_or_infinity);
  }
}

TEST_CASE("new values reach the transpose", "[linear][rectangular]") {
  const auto A = scattered<double>(90, 40), other = scattered<double>(90, 40, 77);
  const std::vector<double> b = random_vector<double>(90, 6);
  const csr_matrix<double> changed(90, 40, A.row_offsets_32(), A.column_indices(), other.values());
  const Eigen::VectorXd expected = least_squares(changed, b);
  for (const std::string method : methods)
    for (const std::string& executor : executors_with_steps()) {
      INFO(method << ", " << executor);
      linear_solver<double> solver(A, {.method = method, .rtol = 1e-12, .executor = executor});
      std::vector<double> x(40, 0.0);
      CHECK(solver.solve(b, x).converged());
      solver.update_values(changed.values());
      x.assign(40, 0.0);
      CHECK(solver.solve(b, x).converged());
      CHECK((to_eigen(x) - expected).norm() <= 1e-9 * expected.norm());
      if (executor != "host") continue;
      solver.update_values(A.values());
      solver.bind_values(changed.values().data());
      x.assign(40, 0.0);
      CHECK(solver.solve(b, x).converged());
      CHECK((to_eigen(x) - expected).norm() <= 1e-9 * expected.norm());
    }
}

TEST_CASE("row offsets of 64 bits, and many rows, give the same least squares", "[linear][rectangular]") {
  const auto A = scattered<double>(5000, 3000);
  std::vector<std::int64_t> offsets;
  for (const std::int32_t offset : A.row_offsets_32()) offsets.push_back(offset);
  const std::vector<double> b = random_vector<double>(5000, 12);
  std::vector<double> first;
  for (const std::string method : methods)
    for (const std::string& executor : executors_with_steps()) {
      INFO(method << ", " << executor);
      const whilst::linear_solver_options options{.method = method, .rtol = 1e-11, .executor = executor};
      const csr_matrix<double> wide(5000, 3000, offsets, A.column_indices(), A.values());
      CHECK(wide.has_64bit_offsets());
      std::vector<double> x(3000, 0.0), y(3000, 0.0);
      CHECK(linear_solver<double>(A, options).solve(b, x).reason() == reason::converged_normal);
      CHECK(linear_solver<double>(wide, options).solve(b, y).reason() == reason::converged_normal);
      if (first.empty()) first = x;
      CHECK((to_eigen(x) - to_eigen(first)).norm() <= 1e-8 * to_eigen(first).norm());
      CHECK((to_eigen(y) - to_eigen(first)).norm() <= 1e-8 * to_eigen(first).norm());
    }
}

TEST_CASE("what does not fit a rectangular matrix is refused in words", "[linear][rectangular]") {
  const auto A = scattered<double>(6, 4);
  const auto message = [](const auto& act) {
    try {
      act();
    } catch (const whilst::error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  for (const char* method : {"cg", "minres", "bicgstab", "gmres"})
    CHECK_THAT(message([&] { linear_solver<double>(A, {.method = method, .executor = "host"}); }),
               contains("6 rows and 4 columns") && contains("lsqr, lsmr, cgls"));
  CHECK_THAT(message([&] { linear_solver<double>(A, {.method = "lsqr", .executor = "resident"}); }),
             contains("resident"));
  linear_solver<double> solver(A, {.method = "auto", .executor = "host"});
  std::vector<double> x(4, 0.0), wrong(6, 0.0);
  const report automatic = solver.solve(std::vector<double>(6, 1.0), x);
  CHECK(automatic.choice() == "lsqr, since the matrix is not square");
  CHECK(automatic.format() == "csr");
  CHECK(automatic.format_choice() == "csr, since no other has its transpose");
  CHECK_THAT(message([&] { linear_solver<double>(A, {.method = "lsqr", .format = "sell", .executor = "host"}); }),
             contains("format sell has no products with the transpose"));
  CHECK_THAT(message([&] { solver.solve(std::vector<double>(6, 1.0), wrong); }),
             contains("6 rows and 4 columns") && contains("x has 6"));
  CHECK_THAT(message([&] { solver.solve(std::vector<double>(4, 1.0), x); }), contains("b has 4"));
  const auto times = [](whilst::stream_handle, index_type, const double*, double*) {};
  CHECK_THAT(message([&] { linear_solver<double>(4, times, {.method = "lsqr", .callback_memory = "host"}); }),
             contains("transpose"));
  CHECK_THAT(message([&] {
               linear_solver<double>(6, 4, times, times,
                                     {.method = "lsqr", .preconditioner = "jacobi", .callback_memory = "host"});
             }),
             contains("jacobi"));
  CHECK_THAT(message([&] { linear_solver<double>(6, -4, times, times, {.callback_memory = "host"}); }),
             contains("-4 columns"));
  CHECK_THAT(message([&] { linear_solver<double>(6, 4, times, nullptr, {.callback_memory = "host"}); }),
             contains("transpose"));
}

TEST_CASE("cgls and lsqr take the iterations of Eigen's least-squares conjugate gradients", "[linear][rectangular]") {
  for (const auto& [rows, columns] : {std::pair(300, 120), std::pair(900, 500), std::pair(5000, 3000)}) {
    const auto A = scattered<double>(rows, columns);
    const Eigen::SparseMatrix<double> matrix = to_eigen(A);
    const std::vector<double> b = random_vector<double>(rows, 8);
    // ||A'r|| <= rtol ||A'b|| (||r|| / ||b||) here; Eigen's tolerance is for ||A'r|| / ||A'b||.
    std::vector<double> x(static_cast<std::size_t>(columns), 0.0);
    const report fine = linear_solver<double>(A, {.method = "lsqr", .rtol = 1e-11, .executor = "host"}).solve(b, x);
    constexpr double rtol = 1e-8;
    Eigen::LeastSquaresConjugateGradient<Eigen::SparseMatrix<double>, Eigen::IdentityPreconditioner> eigen(matrix);
    eigen.setTolerance(rtol * fine.relative_residual());
    static_cast<void>(eigen.solve(to_eigen(b)).eval());
    REQUIRE(eigen.info() == Eigen::Success);
    for (const char* method : {"cgls", "lsqr"}) {
      INFO(method << ", " << rows << " x " << columns << ", Eigen took " << eigen.iterations());
      x.assign(x.size(), 0.0);
      const report r = linear_solver<double>(A, {.method = method, .rtol = rtol, .executor = "host"}).solve(b, x);
      CHECK(static_cast<double>(r.iterations()) == Approx(static_cast<double>(eigen.iterations())).epsilon(0.1));
    }
  }
}

TEST_CASE("well1033 is solved to the solution of a QR", "[linear][rectangular][data]") {
  const char* const folder = std::getenv("WHILST_DATA_DIR");
  if (!folder) {
    WARN("skipped: WHILST_DATA_DIR is not set");
    return;
  }
  const std::string path = std::string(folder) + "/lsq/well1033";
  const auto A = whilst::read_matrix<double>(path + ".mtx");
  const std::vector<double> b = whilst::read_vector<double>(path + "_rhs1.mtx");
  REQUIRE(A.rows() == 1033);
  REQUIRE(A.columns() == 320);
  const Eigen::VectorXd expected = Eigen::MatrixXd(to_eigen(A)).colPivHouseholderQr().solve(to_eigen(b));
  for (const std::string method : methods)
    for (const std::string& executor : executors_with_steps()) {
      INFO(method << ", " << executor);
      std::vector<double> x(320, 0.0);
      const report r = linear_solver<double>(A, {.method = method, .rtol = 1e-11, .executor = executor}).solve(b, x);
      CHECK(r.reason() == reason::converged_normal);
      // The condition of A is 166: the error is at most its square times the ratio asked for.
      CHECK((to_eigen(x) - expected).norm() <= 166 * 166 * 1e-10 * expected.norm());
    }
}

}  // namespace whilst_test
