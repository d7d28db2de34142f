#include "whilst/eigen.hpp"

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

namespace {

/// A 4 x 5 matrix with an empty row, an empty column and unsorted insertion.
template <class Matrix>
Matrix uneven() {
  using T = typename Matrix::Scalar;
  Matrix A(4, 5);
  A.insert(3, 4) = T(7);
  A.insert(0, 1) = T(-2);
  A.insert(3, 0) = T(5);
  A.insert(1, 3) = T(0.5);
  A.insert(0, 0) = T(1);
  A.insert(3, 1) = T(6);
  return A;
}

template <class Matrix>
void check_copy(const Matrix& A) {
  const auto copy = whilst::from_eigen(A);
  CHECK(copy.rows() == A.rows());
  CHECK(copy.columns() == A.cols());
  CHECK(copy.nonzeros() == A.nonZeros());
  CHECK(copy.has_64bit_offsets() == std::is_same_v<typename Matrix::StorageIndex, std::int64_t>);
  CHECK_FALSE(copy.is_on_device());
  CHECK((Eigen::MatrixXd(to_eigen(copy)) == Eigen::MatrixXd(A.template cast<double>())));
}

}  // namespace

TEMPLATE_TEST_CASE("Eigen matrices of every kind are copied", "[eigen]", float, double) {
  using column_major = Eigen::SparseMatrix<TestType>;
  using row_major = Eigen::SparseMatrix<TestType, Eigen::RowMajor>;
  using long_column_major = Eigen::SparseMatrix<TestType, Eigen::ColMajor, std::int64_t>;
  using long_row_major = Eigen::SparseMatrix<TestType, Eigen::RowMajor, std::int64_t>;
  using short_row_major = Eigen::SparseMatrix<TestType, Eigen::RowMajor, short>;
  // Inserting leaves a matrix uncompressed, with room between its rows.
  CHECK_FALSE(uneven<row_major>().isCompressed());
  check_copy(uneven<column_major>());
  check_copy(uneven<row_major>());
  check_copy(uneven<long_column_major>());
  check_copy(uneven<long_row_major>());
  check_copy(uneven<short_row_major>());
  auto compressed = uneven<row_major>();
  compressed.makeCompressed();
  check_copy(compressed);
  check_copy(row_major(3, 3));
  check_copy(column_major());
}

TEST_CASE("an Eigen copy does not refer to the matrix it came from", "[eigen]") {
  auto A = uneven<Eigen::SparseMatrix<double, Eigen::RowMajor>>();
  const auto copy = whilst::from_eigen(A);
  A.coeffRef(0, 0) = 99;
  CHECK(copy.values()[0] == 1);
}

TEST_CASE("an Eigen system is solved in Eigen's vectors", "[eigen]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:12");
  const Eigen::SparseMatrix<double> A = to_eigen(problem.matrix);
  whilst::linear_solver<double> solver(whilst::from_eigen(A), {.rtol = 1e-12, .executor = "host"});
  const Eigen::VectorXd b = to_eigen(random_vector<double>(144, 5));
  Eigen::VectorXd x = Eigen::VectorXd::Zero(144);
  REQUIRE(solver.solve(whilst::span_of(b), whilst::span_of(x)).converged());
  const Eigen::VectorXd exact = Eigen::MatrixXd(A).ldlt().solve(b);
  // The error is at most the condition number, (12 + 1)^2 4 / pi^2 = 69, times the relative residual.
  CHECK((x - exact).norm() <= 70 * 1e-12 * exact.norm());
}

TEST_CASE("spans of Eigen vectors are the vectors' own entries", "[eigen]") {
  Eigen::VectorXf v(3);
  v << 1, 2, 3;
  const Eigen::Vector4d fixed(1, 2, 3, 4);
  Eigen::RowVectorXd row(2);
  whilst::span_of(v)[1] = 20;
  CHECK(v[1] == 20);
  CHECK(whilst::span_of(fixed).data() == fixed.data());
  CHECK(whilst::span_of(fixed).size() == 4);
  CHECK(whilst::span_of(row).size() == 2);
  CHECK((std::is_same_v<decltype(whilst::span_of(fixed)), std::span<const double>>));
  CHECK((std::is_same_v<decltype(whilst::span_of(v)), std::span<float>>));
}

}  // namespace whilst_test
