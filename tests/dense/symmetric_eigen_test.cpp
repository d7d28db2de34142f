#include "whilst/dense/symmetric_eigen.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include <Eigen/Eigenvalues>

#include "tests/catch.hpp"

namespace whilst_test {

namespace {

using matrix = Eigen::MatrixXd;

/// Rounding of some n^2 rotations, each of n entries, relative to the largest eigenvalue.
template <class T>
constexpr double rounding = 40 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// Symmetric, of both signs, with entries that T holds exactly.
template <class T>
matrix random_symmetric(int n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  matrix A(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) A(i, j) = A(j, i) = static_cast<T>(uniform(generator));
  return A;
}

double size_of(const matrix& A) { return A.cwiseAbs().rowwise().sum().maxCoeff(); }

template <int n, class T>
std::pair<matrix, matrix> diagonalized(const matrix& A) {
  T a[n][n], v[n][n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i][j] = static_cast<T>(A(i, j));
  whilst::diagonalize<n>(a, v);
  matrix D(n, n), V(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      D(i, j) = static_cast<double>(a[i][j]);
      V(i, j) = static_cast<double>(v[i][j]);
    }
  }
  return {D, V};
}

template <int n, class T>
matrix made_positive(const matrix& A) {
  T packed[n * (n + 1) / 2];
  int k = 0;  // row by row, counted and not computed
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) packed[k++] = static_cast<T>(A(i, j));
  whilst::make_positive<n>(packed);
  matrix result(n, n);
  k = 0;
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) result(i, j) = result(j, i) = static_cast<double>(packed[k++]);
  return result;
}

/// The nearest positive semi-definite matrix, by Eigen.
matrix projection(const matrix& A) {
  const Eigen::SelfAdjointEigenSolver<matrix> of(A);
  return of.eigenvectors() * of.eigenvalues().cwiseMax(0).asDiagonal() * of.eigenvectors().transpose();
}

template <int n, class T>
void check_against_eigen(const matrix& A) {
  const double tolerance = rounding<T> * size_of(A);
  const auto [D, V] = diagonalized<n, T>(A);
  Eigen::VectorXd found = D.diagonal();
  std::sort(found.begin(), found.end());
  const Eigen::VectorXd expected = Eigen::SelfAdjointEigenSolver<matrix>(A).eigenvalues();
  CHECK((found - expected).cwiseAbs().maxCoeff() <= tolerance);
  CHECK((V.transpose() * V - matrix::Identity(n, n)).cwiseAbs().maxCoeff() <= rounding<T>);
  CHECK((A * V - V * matrix(D.diagonal().asDiagonal())).cwiseAbs().maxCoeff() <= tolerance);

  const matrix P = made_positive<n, T>(A);
  CHECK((P - projection(A)).cwiseAbs().maxCoeff() <= tolerance);
  CHECK(Eigen::SelfAdjointEigenSolver<matrix>(P).eigenvalues().minCoeff() >= -tolerance);
}

template <int n, class T>
void check_size() {
  INFO(n << " x " << n << (sizeof(T) == 4 ? ", float" : ", double"));
  for (unsigned seed = 0; seed < 20; ++seed) {
    const matrix A = random_symmetric<T>(n, seed);
    check_against_eigen<n, T>(A);
    check_against_eigen<n, T>(-A);
    // Of rank one: many eigenvalues that are equal.
    const Eigen::VectorXd column = A.col(0);
    check_against_eigen<n, T>((column * column.transpose()).template cast<T>().template cast<double>());
    // Positive definite ones stay as they are, to the bit.
    const matrix definite = A + 2.0 * n * matrix::Identity(n, n);
    const matrix held = definite.template cast<T>().template cast<double>();
    CHECK((made_positive<n, T>(held) == held));
    CHECK((made_positive<n, T>(-held).cwiseAbs().maxCoeff() <= rounding<T> * size_of(held)));
  }
  const matrix zero = matrix::Zero(n, n);
  CHECK((made_positive<n, T>(zero) == zero));
  CHECK((diagonalized<n, T>(zero).second == matrix::Identity(n, n)));
  const matrix ones = matrix::Ones(n, n);
  check_against_eigen<n, T>(ones);
  check_against_eigen<n, T>(-ones);
}

}  // namespace

TEMPLATE_TEST_CASE("small symmetric matrices have the eigenvalues that Eigen finds", "[eigen][sanitizer]", float,
                   double) {
  check_size<1, TestType>();
  check_size<2, TestType>();
  check_size<3, TestType>();
  check_size<6, TestType>();
  check_size<12, TestType>();
}

TEMPLATE_TEST_CASE("the size of a small matrix does not matter", "[eigen]", float, double) {
  // Down to where squares of entries vanish, and up to where they overflow.
  using limits = std::numeric_limits<TestType>;
  for (const double scale : {1e4 * static_cast<double>(limits::min()), 1e-4 * static_cast<double>(limits::max())}) {
    INFO("entries of " << scale);
    const matrix A = random_symmetric<TestType>(3, 5), scaled = A * scale;
    const double tolerance = rounding<TestType> * size_of(A);
    CHECK((made_positive<3, TestType>(scaled) / scale - projection(A)).cwiseAbs().maxCoeff() <= tolerance);
  }
  matrix graded = matrix::Zero(2, 2);
  graded(0, 0) = 1e15;
  graded(1, 1) = -1e-15;
  graded(0, 1) = graded(1, 0) = 1;
  check_against_eigen<2, TestType>(graded);
}

TEMPLATE_TEST_CASE("what is not a number stays so", "[eigen]", float, double) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity, -infinity}) {
    for (int i = 0; i < 3; ++i) {
      for (int j = i; j < 3; ++j) {
        INFO(bad << " in entry " << i << ", " << j);
        matrix A = random_symmetric<TestType>(3, 2);
        A(0, 0) = -1;  // there is something to project
        A(i, j) = A(j, i) = bad;
        CHECK_FALSE(made_positive<3, TestType>(A).allFinite());
        diagonalized<3, TestType>(A);  // ends
      }
    }
  }
}

}  // namespace whilst_test
