// Least squares on several ranks, threads of this process: against one rank, and against dense factors by Eigen.
#include <cmath>
#include <Eigen/Dense>
#include <limits>
#include <mutex>
#include <random>

#include "solvers/linear/distributed/transpose_of_group.hpp"
#include "tests/catch.hpp"
#include "tests/group/executors.hpp"
#include "tests/linear/distributed_solves.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst::reason;
using whilst_test::equal_split;
using whilst_test::nothing;
using whilst_test::row_split;
using whilst_test::same_bits;
using whilst_test::solved_by_ranks;

/// Square, without symmetry, with entries given twice and in no order. rank: so many columns are independent, the
/// others sums of two of these; at most n. Diagonally dominant if all are.
template <class T>
csr_matrix<T> some_matrix(index_type n, index_type rank, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<T> values;
  for (index_type i = 0; i < n; ++i) {
    std::vector<T> row(static_cast<std::size_t>(rank));
    const auto add = [&](index_type j, double value) {
      const auto put = [&](index_type column) {
        columns.push_back(static_cast<std::int32_t>(column));
        values.push_back(static_cast<T>(value));
      };
      put(j);
      for (index_type more = rank; more < n; ++more)
        if (j == more % rank || j == (3 * more + 1) % rank) put(more);
    };
    for (int k = 0; k < 4; ++k)
      add(static_cast<index_type>(random() % static_cast<unsigned>(rank)),
          static_cast<double>(static_cast<int>(random() % 17) - 8) / 16);
    add(i % rank, 4);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  return csr_matrix<T>(n, n, offsets, columns, values);
}

template <class T>
Eigen::MatrixXd dense(const csr_matrix<T>& A) {
  Eigen::MatrixXd made = Eigen::MatrixXd::Zero(A.rows(), A.columns());
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      made(i, A.column_indices()[static_cast<std::size_t>(k)]) += A.values()[static_cast<std::size_t>(k)];
  return made;
}
template <class T>
Eigen::VectorXd dense(const std::vector<T>& x) {
  Eigen::VectorXd made(static_cast<Eigen::Index>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) made[static_cast<Eigen::Index>(i)] = x[i];
  return made;
}

/// Splits of n rows among so many ranks, one of them with ranks that have none.
std::vector<row_split> splits_of(index_type n, int size) {
  std::vector<row_split> made{equal_split(n, size)};
  if (size == 3) made.push_back({0, 0, n / 3, n});
  if (size == 5) made.push_back({0, 1, n / 2, n / 2, n, n});
  return made;
}

linear_solver_options by_lsqr(const char* preconditioner, double rtol, const std::string& executor) {
  linear_solver_options options{.method = "lsqr", .preconditioner = preconditioner};
  options.rtol = rtol;
  options.executor = executor;
  return options;
}
bool leave_out(const std::string& executor, int size) { return executor != "host" && size > whilst_test::ranks_of_gpu; }

}  // namespace

TEMPLATE_TEST_CASE("lsqr on several ranks solves what one does", "[group][linear]", float, double) {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    preconditioner = GENERATE("none", "jacobi");
  const csr_matrix<TestType> A = some_matrix<TestType>(157, 157, 3);
  const std::vector<TestType> b = whilst_test::some_b<TestType>(A.rows());
  const double rtol = sizeof(TestType) == 4 ? 1e-4 : 1e-10;
  const Eigen::MatrixXd all = dense(A);
  const Eigen::VectorXd exact = all.partialPivLu().solve(dense(b));
  // The error is at most the residual, rtol ||b||, over the least singular value, beside rounding of the product.
  const double least = Eigen::JacobiSVD<Eigen::MatrixXd>(all).singularValues().minCoeff();
  const double most_apart = 1.1 * rtol * dense(b).norm() / least;
  std::vector<TestType> serial(b.size());
  const whilst::report alone =
      whilst::linear_solver<TestType>(A, by_lsqr(preconditioner.c_str(), rtol, "host")).solve(b, serial);
  REQUIRE(alone.reason() == reason::converged_rtol);
  for (const int size : {1, 2, 3, 5}) {
    if (leave_out(executor, size)) continue;
    for (const row_split& split : splits_of(A.rows(), size)) {
      CAPTURE(executor, preconditioner, size, split);
      const auto options = by_lsqr(preconditioner.c_str(), rtol, executor);
      const auto found = solved_by_ranks(size, A, split, b, options),
                 again = solved_by_ranks(size, A, split, b, options);
      REQUIRE(found.thrown == nothing(size));
      CHECK((dense(found.x) - exact).norm() <= most_apart);
      CHECK(same_bits(found.x, again.x));
      for (const whilst::report& one : found.reports) {
        CHECK(one.reason() == reason::converged_rtol);
        CHECK(one.residual_norm() == found.reports.front().residual_norm());
        CHECK(one.iterations() == found.reports.front().iterations());
        CHECK(std::abs(one.iterations() - alone.iterations()) <= 1);  // sums are rounded in another order
      }
    }
  }
}

// A singular system that no x solves: the least squares of least norm, as Eigen finds it.
TEST_CASE("lsqr on several ranks finds least squares of least norm", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const csr_matrix<double> A = some_matrix<double>(60, 41, 5);
  const std::vector<double> b = whilst_test::some_b<double>(A.rows());
  const Eigen::VectorXd exact = dense(A).completeOrthogonalDecomposition().solve(dense(b));
  const Eigen::VectorXd singular = Eigen::JacobiSVD<Eigen::MatrixXd>(dense(A)).singularValues();
  REQUIRE((dense(A) * exact - dense(b)).norm() > 0.1 * dense(b).norm());
  const auto options = by_lsqr("none", 1e-12, executor);
  for (const int size : {1, 2, 3, 5}) {
    if (leave_out(executor, size)) continue;
    for (const row_split& split : splits_of(A.rows(), size)) {
      CAPTURE(executor, size, split);
      const auto found = solved_by_ranks(size, A, split, b, options);
      REQUIRE(found.thrown == nothing(size));
      for (const whilst::report& one : found.reports) CHECK(one.reason() == reason::converged_normal);
      // ||A'r|| is at most 1e-12 ||A|| ||r||; the error in x that over the square of the least singular value that is
      // not 0, the 41st.
      const double most = 1e-12 * singular[0] * dense(b).norm() / (singular[40] * singular[40]);
      CHECK((dense(found.x) - exact).norm() <= most + 1e-13 * exact.norm());
    }
  }
}

TEST_CASE("lsqr on several ranks takes new values for both products", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    preconditioner = GENERATE("none", "jacobi");
  CAPTURE(executor, preconditioner);
  const csr_matrix<double> A = some_matrix<double>(90, 90, 8);
  std::vector<double> other(A.values().begin(), A.values().end());
  for (std::size_t k = 0; k < other.size(); ++k) other[k] *= 1 + 0.25 * static_cast<double>(k % 3);
  std::vector<std::int32_t> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(static_cast<std::int32_t>(A.row_offset(i)));
  const csr_matrix<double> B(A.rows(), A.columns(), offsets,
                             std::vector<std::int32_t>(A.column_indices().begin(), A.column_indices().end()), other);
  const std::vector<double> b = whilst_test::some_b<double>(A.rows());
  const auto options = by_lsqr(preconditioner.c_str(), 1e-10, executor);
  const row_split split{0, 20, 20, 90};
  const auto of_A = solved_by_ranks(3, A, split, b, options), of_B = solved_by_ranks(3, B, split, b, options);
  REQUIRE(of_A.thrown == nothing(3));
  CHECK(!same_bits(of_A.x, of_B.x));
  CHECK(same_bits(solved_by_ranks(3, A, split, b, options, {B}).x, of_B.x));
  CHECK(same_bits(solved_by_ranks(3, A, split, b, options, {B, A}).x, of_A.x));
}

TEST_CASE("lsqr on ranks that read of others that read nothing of them", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  // Lower triangular: ranks read of those before them, and in products with A' of those after.
  const index_type n = 45;
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<double> values;
  for (index_type i = 0; i < n; ++i) {
    if (i >= 15) columns.push_back(static_cast<std::int32_t>(i - 15)), values.push_back(-1);
    columns.push_back(static_cast<std::int32_t>(i)), values.push_back(4);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  const csr_matrix<double> A(n, n, offsets, columns, values);
  const std::vector<double> b(static_cast<std::size_t>(n), 4.0);
  const auto found = solved_by_ranks(3, A, {0, 15, 30, 45}, b, by_lsqr("none", 1e-12, executor), {A, A, A});
  REQUIRE(found.thrown == nothing(3));
  // By blocks: x = b/4 (1, 1 + 1/4, 1 + 1/4 + 1/16).
  CHECK(found.x[5] == Approx(1));
  CHECK(found.x[20] == Approx(1.25));
  CHECK(found.x[40] == Approx(1.3125));
}

TEST_CASE("lsqr on several ranks ends as on one where there is little to solve, or a number is none",
          "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const auto options = by_lsqr("none", 1e-10, executor);
  const auto ends_as_on_one = [&](const csr_matrix<double>& A, const std::vector<double>& b) {
    std::vector<double> serial(b.size());
    const reason alone = whilst::linear_solver<double>(A, by_lsqr("none", 1e-10, "host")).solve(b, serial).reason();
    const auto found = solved_by_ranks(3, A, {0, 2, 2, A.rows()}, b, options);
    REQUIRE(found.thrown == nothing(3));
    for (const whilst::report& one : found.reports) CHECK(one.reason() == alone);
    return alone;
  };
  const std::vector<double> ones(5, 1.0), zeros(5, 0.0);
  CHECK(whilst::converged(ends_as_on_one(whilst_test::small, zeros)));
  CHECK(ends_as_on_one(whilst_test::zero_matrix<double>(5), ones) == reason::converged_normal);
  std::vector<double> bad = ones;
  bad[4] = std::numeric_limits<double>::quiet_NaN();
  CHECK(ends_as_on_one(whilst_test::small, bad) == reason::nan_or_infinity);
  // By the limit.
  auto limited = options;
  limited.max_iterations = 2;
  for (const auto& one :
       solved_by_ranks(3, some_matrix<double>(30, 30, 2), {0, 2, 2, 30}, whilst_test::some_b<double>(30), limited)
           .reports) {
    CHECK(one.reason() == reason::iteration_limit);
    CHECK(one.iterations() == 2);
  }
}

TEST_CASE("lsqr on several ranks refuses preconditioners that it does not take", "[group][linear]") {
  for (const char* preconditioner : {"ilu", "amg", "chebyshev"})
    for (const std::string& one : solved_by_ranks(3, whilst_test::small, {0, 2, 4, 5}, std::vector<double>(5, 1.0),
                                                  by_lsqr(preconditioner, 1e-10, "host"))
                                      .thrown)
      CHECK(one.find("method lsqr does not take preconditioner") != std::string::npos);
}

TEMPLATE_TEST_CASE("the transpose of a distributed matrix has the bits of that of one rank", "[group][linear]", float,
                   double) {
  const csr_matrix<TestType> A = some_matrix<TestType>(53, 53, 12);
  std::vector<TestType> x;
  for (index_type i = 0; i < A.rows(); ++i) x.push_back(TestType(1) / static_cast<TestType>(i + 3));  // sums round
  // Column by column, each in the order of rows.
  std::vector<TestType> expected(x.size(), TestType(0));
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto at = static_cast<std::size_t>(k);
      expected[static_cast<std::size_t>(A.column_indices()[at])] += A.values()[at] * x[static_cast<std::size_t>(i)];
    }
  for (const int size : {1, 2, 3, 5})
    for (const row_split& split : splits_of(A.rows(), size)) {
      CAPTURE(size, split);
      CHECK(whilst_test::on_ranks(size, [&](const whilst::group& ranks) {
              const auto At = whilst::transposed(whilst_test::distributed<TestType>(ranks, A, split));
              const auto y = At.multiply(whilst_test::part_of(x, At.partition(), ranks.rank()));
              if (!same_bits(y, whilst_test::part_of(expected, At.partition(), ranks.rank())))
                throw std::runtime_error("other bits");
            }) == nothing(size));
    }
}

namespace {

/// Of any shape, with four to six entries a row.
csr_matrix<double> oblong(index_type rows, index_type columns, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> offsets{0}, indices;
  std::vector<double> values;
  for (index_type i = 0; i < rows; ++i) {
    const auto put = [&](index_type j, double value) {
      indices.push_back(static_cast<std::int32_t>(j));
      values.push_back(value);
    };
    for (int k = 0; k < 4; ++k)
      put(static_cast<index_type>(random() % static_cast<unsigned>(columns)),
          static_cast<double>(static_cast<int>(random() % 17) - 8) / 16);
    put(i % columns, 3);
    if (i + rows < columns) put(i + rows, 2);
    offsets.push_back(static_cast<std::int32_t>(indices.size()));
  }
  return csr_matrix<double>(rows, columns, offsets, indices, values);
}

whilst::distributed_csr_matrix<double> split_both_ways(const whilst::group& ranks, const csr_matrix<double>& A,
                                                       const row_split& rows, const row_split& columns) {
  const auto q = static_cast<std::size_t>(ranks.rank());
  const whilst_test::given_rows<double> own(A, rows[q], rows[q + 1]);
  return {ranks, own.first, whilst::row_partition(columns), own.offsets, own.columns, own.values};
}

/// x on all ranks, and what they report; later: values for a second solve, which is that of which x is.
whilst_test::found_by_ranks<double> solved_oblong(int size, const csr_matrix<double>& A, const row_split& rows,
                                                  const row_split& columns, const std::vector<double>& b,
                                                  const linear_solver_options& options,
                                                  const csr_matrix<double>* later = nullptr) {
  whilst_test::found_by_ranks<double> made;
  made.x.resize(static_cast<std::size_t>(A.columns()));
  std::mutex lock;
  made.thrown = whilst_test::on_ranks(size, [&](const whilst::group& ranks) {
    const auto q = static_cast<std::size_t>(ranks.rank());
    whilst::distributed_linear_solver<double> solver(
        split_both_ways(ranks, A, rows, columns), whilst_test::with_executor(options, options.executor, ranks.rank()));
    const std::vector<double> own_b(b.begin() + rows[q], b.begin() + rows[q + 1]);
    std::vector<double> own_x(static_cast<std::size_t>(columns[q + 1] - columns[q]));
    whilst::report result = solver.solve(own_b, own_x);
    if (later) {
      solver.update_values(split_both_ways(ranks, *later, rows, columns));
      std::fill(own_x.begin(), own_x.end(), 0.0);
      result = solver.solve(own_b, own_x);
    }
    const std::lock_guard hold(lock);
    std::copy(own_x.begin(), own_x.end(), made.x.begin() + columns[q]);
    made.reports.push_back(result);
  });
  return made;
}

}  // namespace

TEST_CASE("lsqr on several ranks solves systems of any shape", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const bool is_tall = GENERATE(true, false);
  const csr_matrix<double> A = is_tall ? oblong(140, 60, 4) : oblong(50, 97, 6);
  const std::vector<double> b = whilst_test::some_b<double>(A.rows());
  const Eigen::VectorXd exact = dense(A).completeOrthogonalDecomposition().solve(dense(b));
  const Eigen::VectorXd singular = Eigen::JacobiSVD<Eigen::MatrixXd>(dense(A)).singularValues();
  const double least = singular[singular.size() - 1];
  const auto options = by_lsqr("none", 1e-12, executor);
  std::vector<double> serial(static_cast<std::size_t>(A.columns()));
  const whilst::report alone = whilst::linear_solver<double>(A, by_lsqr("none", 1e-12, "host")).solve(b, serial);
  CHECK(alone.reason() == (is_tall ? reason::converged_normal : reason::converged_rtol));
  for (const int size : {1, 2, 3, 5}) {
    if (leave_out(executor, size)) continue;
    for (const row_split& rows : splits_of(A.rows(), size))
      for (const row_split& columns : splits_of(A.columns(), size)) {
        CAPTURE(executor, is_tall, size, rows, columns);
        const auto found = solved_oblong(size, A, rows, columns, b, options);
        REQUIRE(found.thrown == nothing(size));
        // ||A'r|| <= 1e-12 ||A|| ||b|| over the square of the least singular value; where b is in the range of A,
        // ||r|| <= 1e-12 ||b|| over that value; and rounding of products.
        const double most = is_tall ? singular[0] / (least * least) : 1 / least;
        CHECK((dense(found.x) - exact).norm() <= 1e-12 * most * dense(b).norm() + 1e-13 * exact.norm());
        for (const whilst::report& one : found.reports) {
          CHECK(one.reason() == alone.reason());
          CHECK(std::abs(one.iterations() - alone.iterations()) <= 2);  // sums are rounded in another order
          CHECK(one.residual_norm() == found.reports.front().residual_norm());
        }
      }
  }
  // Scaled columns have the same least squares where the rank is full, and new values count for both products.
  if (!is_tall) return;
  const row_split rows{0, 0, 90, 140}, columns{0, 41, 41, 60};
  const csr_matrix<double> twice = [&] {
    std::vector<double> values(A.values().begin(), A.values().end());
    for (double& value : values) value *= 2;
    std::vector<std::int32_t> offsets;
    for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(static_cast<std::int32_t>(A.row_offset(i)));
    return csr_matrix<double>(A.rows(), A.columns(), offsets,
                              std::vector<std::int32_t>(A.column_indices().begin(), A.column_indices().end()), values);
  }();
  const auto scaled = solved_oblong(3, A, rows, columns, b, by_lsqr("jacobi", 1e-12, executor), &twice);
  REQUIRE(scaled.thrown == nothing(3));
  const double condition = singular[0] / least;
  CHECK((2 * dense(scaled.x) - exact).norm() <= 1e-12 * condition * condition * dense(b).norm() + 1e-13 * exact.norm());
}

TEST_CASE("matrices of any shape on several ranks: products, and what is refused", "[group][linear]") {
  const csr_matrix<double> A = oblong(23, 41, 9);
  std::vector<double> x;
  for (index_type j = 0; j < A.columns(); ++j) x.push_back(1.0 / static_cast<double>(j + 3));
  const std::vector<double> expected = whilst_test::serial_product(A, x);
  const row_split rows{0, 7, 7, 23}, columns{0, 0, 30, 41};
  CHECK(whilst_test::on_ranks(3, [&](const whilst::group& ranks) {
          const auto own = split_both_ways(ranks, A, rows, columns);
          const auto y = own.multiply(whilst_test::part_of(x, own.columns(), ranks.rank()));
          if (!same_bits(y, whilst_test::part_of(expected, own.partition(), ranks.rank())))
            throw std::runtime_error("other bits");
          const auto again = whilst::transposed(whilst::transposed(own));
          if (again.partition() != own.partition() || again.columns() != own.columns())
            throw std::runtime_error("another split");
        }) == nothing(3));

  const auto all_say = [](const std::vector<std::string>& thrown, const std::string& part) {
    for (const std::string& one : thrown) {
      INFO(one);
      CHECK(one.find(part) != std::string::npos);
    }
  };
  const auto made_with = [&](const row_split& first, const row_split& other) {
    return whilst_test::on_ranks(3, [&](const whilst::group& ranks) {
      (void)split_both_ways(ranks, A, rows, ranks.rank() == 1 ? other : first);
    });
  };
  all_say(made_with(columns, {0, 0, 29, 41}), "rank 1 splits the columns otherwise than rank 0");
  all_say(made_with(columns, {0, 41}), "the columns are split among 1 ranks. Split them among 3");
  all_say(made_with({0, 0, 30, 40}, {0, 0, 30, 40}),
          "Give columns from 0 to 39, as all ranks' columns together are 40");
  for (const char* method : {"cg", "gmres", "bicgstab"})
    all_say(
        solved_oblong(3, A, rows, columns, std::vector<double>(23, 1.0), {.method = method, .executor = "host"}).thrown,
        std::string("method ") + method + " needs a square matrix");
  // As many of both, split in two ways.
  const csr_matrix<double> square = some_matrix<double>(30, 30, 2);
  all_say(solved_oblong(3, square, {0, 10, 20, 30}, {0, 10, 10, 30}, std::vector<double>(30, 1.0),
                        {.method = "cg", .executor = "host"})
              .thrown,
          "split alike by rows and columns");
  CHECK(solved_oblong(3, square, {0, 10, 20, 30}, {0, 10, 10, 30}, std::vector<double>(30, 1.0),
                      by_lsqr("none", 1e-8, "host"))
            .thrown == nothing(3));
}
