// Eigen's interface of iterative solvers with Whilst's behind it. The oracles are Eigen's direct solvers.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Dense>
#include <Eigen/Sparse>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/adapters/eigen.hpp"

namespace whilst_test {
namespace {

constexpr int whole = Eigen::Lower | Eigen::Upper;
using columns_of = Eigen::MatrixXd;

/// The five-point difference of -laplace u + u on a square: symmetric, eigenvalues between 1 and 9. With `wind` it is
/// unsymmetric, with eigenvalues whose real parts lie there still, and a symmetric part without wind's.
template <class Matrix>
Matrix plate(int side, double wind = 0, double shift = 5) {
  using T = typename Matrix::Scalar;
  std::vector<Eigen::Triplet<T>> entries;
  for (int i = 0; i < side * side; ++i) {
    entries.emplace_back(i, i, T(shift));
    if (i % side > 0) entries.emplace_back(i, i - 1, T(-1 - wind));
    if (i % side < side - 1) entries.emplace_back(i, i + 1, T(-1 + wind));
    if (i >= side) entries.emplace_back(i, i - side, T(-1));
    if (i < side * (side - 1)) entries.emplace_back(i, i + side, T(-1));
  }
  Matrix A(side * side, side * side);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

template <class Matrix>
Eigen::MatrixXd direct(const Matrix& A, const Eigen::MatrixXd& B) {
  return Eigen::MatrixXd(A.template cast<double>()).partialPivLu().solve(B);
}

/// What a residual below `rtol` |b| leaves of an error where |A^-1| <= 1; a solution in float is rounded besides.
template <class T>
double allowed(double rtol, const Eigen::MatrixXd& b) {
  return (rtol + 4 * std::numeric_limits<T>::epsilon()) * b.norm();
}

template <class T>
constexpr double asked = sizeof(T) == 4 ? 1e-5 : 1e-10;

/// Solves and compares; `solver` may be of any class.
template <class Solver, class Matrix>
void check_solves(Solver& solver, const Matrix& A, const char* what) {
  using T = typename Matrix::Scalar;
  using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  INFO(what);
  solver.setTolerance(T(asked<T>));
  solver.compute(A);
  REQUIRE(solver.info() == Eigen::Success);
  const vector b = vector::LinSpaced(A.rows(), -1, 1);
  vector x = solver.solve(b);
  CHECK(solver.info() == Eigen::Success);
  CHECK(solver.iterations() > 0);
  CHECK(double(solver.error()) <= asked<T>);
  CHECK((x.template cast<double>() - direct(A, b.template cast<double>())).norm() <=
        allowed<T>(asked<T>, b.template cast<double>()));
  x = solver.solveWithGuess(b, x);
  CHECK(solver.iterations() == 0);
}

}  // namespace
}  // namespace whilst_test

namespace whilst_test {
class product_only;
}
template <>
struct Eigen::internal::traits<whilst_test::product_only> : traits<Eigen::SparseMatrix<double>> {};

namespace whilst_test {

/// Eigen's pattern of a matrix-free type.
class product_only : public Eigen::EigenBase<product_only> {
 public:
  using Scalar = double;
  using RealScalar = double;
  using StorageIndex = int;
  enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic, IsRowMajor = false };

  explicit product_only(const Eigen::SparseMatrix<double>& A) : A_(&A) {}
  Eigen::Index rows() const { return A_->rows(); }
  Eigen::Index cols() const { return A_->cols(); }
  const Eigen::SparseMatrix<double>& matrix() const { return *A_; }
  template <class Rhs>
  Eigen::Product<product_only, Rhs, Eigen::AliasFreeProduct> operator*(const Eigen::MatrixBase<Rhs>& x) const {
    return {*this, x.derived()};
  }

 private:
  const Eigen::SparseMatrix<double>* A_;
};

}  // namespace whilst_test

template <class Rhs>
struct Eigen::internal::generic_product_impl<whilst_test::product_only, Rhs, Eigen::SparseShape, Eigen::DenseShape,
                                             Eigen::GemvProduct>
    : generic_product_impl_base<whilst_test::product_only, Rhs, generic_product_impl<whilst_test::product_only, Rhs>> {
  using Scalar = double;
  template <class Dest>
  static void scaleAndAddTo(Dest& to, const whilst_test::product_only& A, const Rhs& x, const Scalar& factor) {
    to += factor * (A.matrix() * x);
  }
};

namespace whilst_test {

TEMPLATE_TEST_CASE("conjugate gradients take Eigen's matrices of every kind", "[adapters][eigen]",
                   (Eigen::SparseMatrix<double>), (Eigen::SparseMatrix<double, Eigen::RowMajor>),
                   (Eigen::SparseMatrix<float, Eigen::RowMajor>), (Eigen::SparseMatrix<double, 0, std::int64_t>)) {
  const TestType A = plate<TestType>(23);
  whilst::eigen::ConjugateGradient<TestType, whole> solver;
  check_solves(solver, A, "whole");
  whilst::eigen::ConjugateGradient<TestType> lower;
  // What is above the diagonal is not read.
  TestType spoilt = A;
  spoilt.coeffRef(0, 1) = 100;
  lower.setTolerance(typename TestType::Scalar(asked<typename TestType::Scalar>));
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(A.rows());
  const auto x = lower.compute(spoilt).solve(b.cast<typename TestType::Scalar>()).eval();
  CHECK((x.template cast<double>() - direct(A, b)).norm() <=
        allowed<typename TestType::Scalar>(asked<typename TestType::Scalar>, b));
}

TEST_CASE("every class for Eigen solves", "[adapters][eigen]") {
  using matrix = Eigen::SparseMatrix<double>;
  const matrix A = plate<matrix>(17), unsymmetric = plate<matrix>(17, 0.5);
  whilst::eigen::MINRES<matrix> minres;
  check_solves(minres, A, "minres");
  whilst::eigen::BiCGSTAB<matrix> bicgstab;
  check_solves(bicgstab, unsymmetric, "bicgstab");
  whilst::eigen::BiCGSTABL<matrix> bicgstabl;
  bicgstabl.setL(4);
  CHECK(bicgstabl.options().polynomial_degree == 4);
  check_solves(bicgstabl, unsymmetric, "bicgstabl");
  whilst::eigen::IDRS<matrix> idr;
  idr.setS(3);
  CHECK(idr.options().shadow_dimension == 3);
  check_solves(idr, unsymmetric, "idr");
  whilst::eigen::GMRES<matrix> gmres;
  gmres.set_restart(12);
  CHECK(gmres.get_restart() == 12);
  check_solves(gmres, unsymmetric, "gmres");
  whilst::eigen::LinearSolver<matrix> any;
  check_solves(any, unsymmetric, "auto");
  CHECK(any.report().method() == "bicgstab");
}

TEST_CASE("least squares for Eigen solve the normal equations", "[adapters][eigen]") {
  Eigen::SparseMatrix<double> A(7, 3);
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 3; ++j) A.insert(i, j) = std::pow(i / 6., j);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(7, 0, 1).array().exp();
  whilst::eigen::LeastSquaresConjugateGradient<Eigen::SparseMatrix<double>> solver(A);
  solver.setTolerance(1e-12);
  const Eigen::VectorXd x = solver.solve(b);
  CHECK(solver.info() == Eigen::Success);
  // The normal equations' condition is below 1000, that of A's columns.
  CHECK((x - Eigen::MatrixXd(A).colPivHouseholderQr().solve(b)).norm() <= 1000 * 1e-12 * b.norm());
}

TEST_CASE("the default tolerance for Eigen is met where rounding ends a solve", "[adapters][eigen]") {
  const auto A = plate<Eigen::SparseMatrix<double>>(40, 0, 4.0001);
  whilst::eigen::ConjugateGradient<Eigen::SparseMatrix<double>> solver(A);
  CHECK(solver.tolerance() == std::numeric_limits<double>::epsilon());
  CHECK(solver.maxIterations() == 2 * 1600);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(A.rows());
  const Eigen::VectorXd x = solver.solve(b);
  CHECK(solver.info() == Eigen::Success);
  CHECK((b - A * x).norm() <= 1e-12 * b.norm());
  using whilst::eigen::detail::info_of;
  CHECK(info_of(whilst::reason::attainable_accuracy, 1e-12, 1e-14) == Eigen::NoConvergence);
  CHECK(info_of(whilst::reason::attainable_accuracy, 1e-3, 1e-16) == Eigen::NoConvergence);
  CHECK(info_of(whilst::reason::attainable_accuracy, 1e-12, 1e-16) == Eigen::Success);
}

TEST_CASE("several right-hand sides for Eigen", "[adapters][eigen]") {
  using matrix = Eigen::SparseMatrix<double>;
  const matrix A = plate<matrix>(9), unsymmetric = plate<matrix>(9, 0.5);
  std::srand(3);
  for (const int columns : {1, 3, 65}) {
    columns_of B = columns_of::Random(A.rows(), columns);
    B.col(columns / 2).setZero();
    whilst::eigen::ConjugateGradient<matrix, whole> at_once(A);
    whilst::eigen::BiCGSTAB<matrix> in_turn(unsymmetric);
    at_once.setTolerance(1e-10);
    in_turn.setTolerance(1e-10);
    INFO(columns << " columns");
    const columns_of X = at_once.solve(B), Y = in_turn.solve(B);
    CHECK(at_once.info() == Eigen::Success);
    CHECK(in_turn.info() == Eigen::Success);
    CHECK(at_once.error() <= 1e-10);
    CHECK((X - direct(A, B)).norm() <= allowed<double>(1e-10, B));
    CHECK((Y - direct(unsymmetric, B)).norm() <= allowed<double>(1e-10, B));
    CHECK(X.col(columns / 2).norm() == 0);
    const columns_of again = at_once.solveWithGuess(B, X);
    CHECK(at_once.iterations() == 0);
    // Rows of a row-major matrix are not columns in memory.
    const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows = at_once.solve(B);
    CHECK((by_rows - X).norm() == 0);
  }
  whilst::eigen::ConjugateGradient<matrix, whole> solver(A);
  const matrix sparse = Eigen::MatrixXd::Identity(81, 4).sparseView();
  const matrix inverse = solver.solve(sparse);
  CHECK((Eigen::MatrixXd(inverse) - direct(A, Eigen::MatrixXd(sparse))).norm() <= 1e-12);
  // Preconditioners that are for one right-hand side.
  for (const char* const options :
       {"preconditioner=ilu", "preconditioner=spai", "preconditioner=amg,amg_refresh=lagged"}) {
    INFO(options);
    whilst::eigen::ConjugateGradient<matrix, whole> in_turn(A);
    in_turn.setOptions(options);
    in_turn.setTolerance(1e-10);
    const columns_of B = columns_of::Random(81, 3), X = in_turn.solve(B);
    CHECK(in_turn.info() == Eigen::Success);
    CHECK((X - direct(A, B)).norm() <= allowed<double>(1e-10, B));
    CHECK((in_turn.setOptions("preconditioner=jacobi").solve(B) - direct(A, B)).norm() <= allowed<double>(1e-10, B));
  }
  // One that fails is told, and the others are solved.
  columns_of B = columns_of::Ones(81, 3);
  B(5, 1) = std::numeric_limits<double>::quiet_NaN();
  const columns_of X = solver.solve(B);
  CHECK(solver.info() == Eigen::NumericalIssue);
  CHECK((X.col(2) - direct(A, columns_of::Ones(81, 1))).norm() <= 1e-12);
}

TEST_CASE("matrix-free types of Eigen", "[adapters][eigen]") {
  using matrix = Eigen::SparseMatrix<double>;
  const matrix A = plate<matrix>(20), small = plate<matrix>(5);
  const product_only product(A), product_of_small(small);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(400, 0, 1);
  whilst::eigen::ConjugateGradient<product_only, whole, Eigen::IdentityPreconditioner> cg;
  cg.setTolerance(1e-10);
  Eigen::VectorXd x = cg.compute(product).solve(b);
  CHECK(cg.info() == Eigen::Success);
  CHECK((x - direct(A, b)).norm() <= allowed<double>(1e-10, b));
  CHECK(cg.report().executor() == "host");
  whilst::eigen::GMRES<product_only, Eigen::IdentityPreconditioner> gmres(product);
  gmres.setTolerance(1e-10);
  x = gmres.solve(b);
  CHECK((x - direct(A, b)).norm() <= allowed<double>(1e-10, b));
  // Another size.
  x = cg.compute(product_of_small).solve(b.head(25));
  CHECK((x - direct(small, b.head(25))).norm() <= allowed<double>(1e-10, b));
  CHECK_THROWS_WITH(cg.setOptions("preconditioner=amg"), contains("amg"));
  x = cg.solve(b.head(25));  // as before
  CHECK(cg.info() == Eigen::Success);
}

TEST_CASE("a preconditioner of Eigen's is called", "[adapters][eigen]") {
  using matrix = Eigen::SparseMatrix<double>;
  const matrix A = plate<matrix>(40, 0, 4.01);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(1600, 0, 1);
  whilst::eigen::ConjugateGradient<matrix, whole> diagonal(A);
  whilst::eigen::ConjugateGradient<matrix, whole, Eigen::IncompleteCholesky<double>> factors(A);
  diagonal.setTolerance(1e-10);
  factors.setTolerance(1e-10);
  const Eigen::VectorXd x = diagonal.solve(b), y = factors.solve(b);
  CHECK(diagonal.report().preconditioner() == "jacobi");
  CHECK(factors.info() == Eigen::Success);
  CHECK(factors.iterations() < diagonal.iterations());
  CHECK((x - y).norm() <= 100 * 2e-10 * b.norm());  // |A^-1| is below 100
  CHECK_THROWS_WITH(factors.setOptions("preconditioner=amg"), contains("calls a preconditioner of Eigen's"));
}

TEST_CASE("options of solvers for Eigen", "[adapters][eigen]") {
  using matrix = Eigen::SparseMatrix<double>;
  const matrix A = plate<matrix>(30);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(900);
  whilst::eigen::ConjugateGradient<matrix> solver(A);
  solver.setOptions("preconditioner=ssor, rtol=1e-6, max_iterations=77");
  CHECK(solver.tolerance() == 1e-6);
  CHECK(solver.maxIterations() == 77);
  Eigen::VectorXd x = solver.solve(b);
  CHECK(solver.report().preconditioner() == "ssor");
  CHECK(solver.report().relative_residual() <= 1e-6);
  solver.setOptions("threads=1");  // what is not named stays
  CHECK(solver.options().preconditioner == "ssor");
  CHECK(solver.tolerance() == 1e-6);
  CHECK_THROWS_WITH(solver.setOptions("preconditioner=nothing, rtol=1"), contains("nothing"));
  CHECK(solver.options().preconditioner == "ssor");
  CHECK(solver.tolerance() == 1e-6);
  CHECK_THROWS_WITH(solver.setOptions("method=gmres"), contains("LinearSolver"));
  CHECK_THROWS_WITH(solver.setOptions("speed=high"), contains("speed"));
  x = solver.solve(b);
  CHECK(solver.info() == Eigen::Success);
  whilst::eigen::LinearSolver<matrix> any;
  any.setOptions("method=fgmres").compute(A);
  x = any.solve(b);
  CHECK(any.report().method() == "fgmres");
  for (const std::string& executor : executors_with_steps()) {
    solver.setOptions("preconditioner=jacobi, executor=" + executor);
    x = solver.solve(b);
    CHECK(solver.report().executor() == executor);
    CHECK((x - direct(A, b)).norm() <= allowed<double>(1e-6, b));
  }
}

TEST_CASE("new values and new patterns for Eigen", "[adapters][eigen]") {
  using matrix = Eigen::SparseMatrix<double>;
  matrix A = plate<matrix>(12);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(144);
  whilst::eigen::ConjugateGradient<matrix> solver;
  solver.setTolerance(1e-10);
  solver.analyzePattern(A);
  columns_of B = columns_of::Ones(144, 2);
  for (const double factor : {1., 7.}) {
    A *= factor;
    solver.factorize(A);
    const Eigen::VectorXd x = solver.solve(b);
    const columns_of X = solver.solve(B);
    CHECK((x - direct(A, b)).norm() <= allowed<double>(1e-10, b));
    CHECK((X - direct(A, B)).norm() <= allowed<double>(1e-10, B));
  }
  A.coeffRef(0, 0) = 50;  // noticed by the next compute, not before
  const Eigen::VectorXd before = solver.solve(b);
  CHECK((A * before - b).norm() > 0.1);
  const matrix other = plate<matrix>(5);
  whilst::eigen::ConjugateGradient<matrix> at_once(other);  // two at a time
  const Eigen::VectorXd x = solver.compute(A).solve(b), y = at_once.solve(b.head(25));
  CHECK((x - direct(A, b)).norm() <= allowed<double>(1e-10, b));
  CHECK((y - direct(other, b.head(25))).norm() <= allowed<double>(1e-10, b));
  const Eigen::VectorXd z = solver.compute(other).solve(b.head(25));
  CHECK((z - y).norm() <= allowed<double>(2e-10, b));
}

TEST_CASE("ends of solves for Eigen", "[adapters][eigen]") {
  using matrix = Eigen::SparseMatrix<double>;
  matrix A = plate<matrix>(12);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(144, 0, 1);
  whilst::eigen::ConjugateGradient<matrix> solver(A);
  solver.setTolerance(1e-10).setMaxIterations(3);
  Eigen::VectorXd x = solver.solve(b);
  CHECK(solver.info() == Eigen::NoConvergence);
  CHECK(solver.iterations() == 3);
  CHECK(double(solver.error()) == Approx((b - A * x).norm() / b.norm()).epsilon(1e-8));
  solver.setMaxIterations(1000);
  A.diagonal()[70] = std::numeric_limits<double>::quiet_NaN();
  x = solver.compute(A).solve(b);
  CHECK(solver.info() == Eigen::NumericalIssue);
  A.diagonal() = Eigen::VectorXd::Ones(144);  // indefinite
  whilst::eigen::ConjugateGradient<matrix, Eigen::Lower, Eigen::IdentityPreconditioner> plain(A);
  x = plain.setTolerance(1e-10).solve(b);
  CHECK(plain.info() == Eigen::NumericalIssue);
  CHECK(plain.report().reason() == whilst::reason::indefinite_operator);

  matrix one(1, 1), rectangular(3, 2);
  one.insert(0, 0) = 4;
  x = solver.compute(one).solve(Eigen::VectorXd::Constant(1, 2));
  CHECK(x[0] == 0.5);
  whilst::eigen::BiCGSTAB<matrix> square;
  CHECK_THROWS_AS(square.compute(rectangular), whilst::error);

  // A matrix that is refused leaves nothing behind for one of its pattern.
  Eigen::Matrix3d path, complete;
  path << 1, -1, 0, -1, 2, -1, 0, -1, 1;
  complete << 2, -1, -1, -1, 2, -1, -1, -1, 2;
  const Eigen::Vector3d balanced(1, 1, -2);
  whilst::eigen::LinearSolver<matrix> singular;
  singular.setTolerance(1e-10);
  singular.setOptions("method=cg,null_space=constant").compute(matrix(path.sparseView()));
  const matrix refused((complete + Eigen::Matrix3d::Identity()).sparseView());
  CHECK_THROWS_AS(singular.compute(refused), whilst::error);
  const Eigen::VectorXd within = singular.compute(matrix(complete.sparseView())).solve(balanced);
  CHECK((complete * within - balanced).norm() <= 2e-10 * balanced.norm());
}

}  // namespace whilst_test
