// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// The inverse of multigrid's coarsest matrix, against Eigen's.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Dense>

#include "solvers/linear/multigrid/cycles/dense_inverse.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {
namespace {

using whilst::buffer;
using whilst::index_type;
using whilst::multigrid::dense_elimination;

using dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The inverse as the library forms it, by every executor that takes steps: use(it).
template <class T, class Use>
void each_inverse(const triplets<T>& A, bool symmetric, const Use& use) {
  for (const way& w : ways()) {
    INFO(w.name << ", " << A.n << " rows");
    const buffer<std::int32_t> offsets(w.where, static_cast<index_type>(A.offsets.size()), A.offsets.data()),
        columns(w.where, static_cast<index_type>(A.columns.size()), A.columns.data());
    const buffer<T> entries(w.where, static_cast<index_type>(A.values.size()), A.values.data());
    const buffer<double> work(w.where, dense_elimination::work_size(A.n));
    const buffer<T> inverse(w.where, A.n * A.n);
    whilst::program_recorder record(w.where);
    whilst::multigrid::record_dense_inverse(
        record,
        whilst::multigrid::matrix_view<T>{{A.n, A.n, columns.size(), offsets.data(), columns.data()}, entries.data()},
        static_cast<double>(std::numeric_limits<T>::epsilon()), work.data(), inverse.data(), symmetric);
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    dense first;
    for (int launch = 0; launch < 2; ++launch) {  // what the first one leaves behind is no matter
      run(program);
      const std::vector<T> found = values(inverse);
      const dense now =
          Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(found.data(), A.n, A.n)
              .template cast<double>();
      if (launch == 0) {
        use(now);
        first = now;
      } else {
        CHECK(now == first);
      }
    }
  }
}

template <class T>
dense to_dense(const triplets<T>& A) {
  dense all = dense::Zero(A.n, A.n);
  for (index_type i = 0; i < A.n; ++i)
    for (std::int32_t e = A.offsets[static_cast<std::size_t>(i)]; e < A.offsets[static_cast<std::size_t>(i) + 1]; ++e)
      all(i, A.columns[static_cast<std::size_t>(e)]) += static_cast<double>(A.values[static_cast<std::size_t>(e)]);
  return all;
}

/// Five points on a grid of `across` columns and no boundary values: all rows sum to `beyond`. With another `upwind`
/// than 1 it is not symmetric. Weights that vary are rounded.
template <class T>
triplets<T> grid(int n, int across, double beyond, double upwind = 1, double variation = 0) {
  triplets<T> A(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    double sum = 0;
    const auto neighbour = [&](int j, double weight) {
      weight *= 1 + variation * std::sin(7.0 * std::min(i, j) + 3.0 * std::max(i, j));
      row.emplace_back(j, -weight);
      sum += weight;
    };
    if (i >= across) neighbour(i - across, upwind);
    if (i % across > 0) neighbour(i - 1, upwind);
    if (i % across + 1 < across && i + 1 < n) neighbour(i + 1, 1);
    if (i + across < n) neighbour(i + across, 1);
    row.emplace_back(i, sum + beyond);  // rows need not be in order
    A.row(row);
  }
  return A;
}

/// Most that rounding may leave of a difference, next to the largest entry.
template <class T>
constexpr double rounding = std::is_same_v<T, float> ? 1e-6 : 1e-12;

double largest(const dense& A) { return A.size() ? A.cwiseAbs().maxCoeff() : 0; }

}  // namespace

TEMPLATE_TEST_CASE("the inverse is Eigen's, for sizes within and beyond a block of pivots and a tile",
                   "[amg][sanitizer]", float, double) {
  for (const int n : {1, 2, 31, 32, 33, 64, 65, 100, 257}) {
    for (const double upwind : {1.0, 2.5}) {
      if (upwind != 1 && n != 33 && n != 100) continue;
      const triplets<TestType> A = grid<TestType>(n, n < 100 ? n : 10, 0.5, upwind);
      const dense expected = to_dense(A).inverse();
      for (const bool symmetric : {false, true}) {
        if (symmetric && upwind != 1) continue;
        each_inverse(A, symmetric, [&](const dense& found) {
          CHECK(largest(found - expected) <= rounding<TestType> * largest(expected));
          if (symmetric) CHECK(found == dense(found.transpose()));
        });
      }
    }
  }
}

TEMPLATE_TEST_CASE("the inverse of a thousand rows", "[amg]", float, double) {
  const triplets<TestType> A = grid<TestType>(under_sanitizers ? 330 : 1000, 25, 0.01);  // some tiles, the last in part
  const dense expected = to_dense(A).inverse();
  each_inverse(A, /*symmetric=*/true, [&](const dense& found) {
    CHECK(largest(found - expected) <= rounding<TestType> * largest(expected));
    CHECK(found == dense(found.transpose()));
  });
}

TEMPLATE_TEST_CASE("full rows without symmetry, entries in several parts", "[amg]", float, double) {
  const int n = 130;
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  triplets<TestType> A(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    for (int j = n - 1; j >= 0; --j) row.emplace_back(j, uniform(generator));
    for (int part = 0; part < 3; ++part) row.emplace_back(i, n / 3.0);
    A.row(row);
  }
  const dense expected = to_dense(A).inverse();
  each_inverse(A, false,
               [&](const dense& found) { CHECK(largest(found - expected) <= rounding<TestType> * largest(expected)); });
}

TEMPLATE_TEST_CASE("of a matrix whose rows sum to 0 the last unknown is left out", "[amg]", float, double) {
  for (const int n : {1, 2, 32, 33, 100, 257, 400}) {
    if (under_sanitizers && n > 257) continue;
    for (const double variation : {0.0, 0.8}) {
      const triplets<TestType> A = grid<TestType>(n, n < 100 ? n : 20, 0, 1, variation);
      dense expected = dense::Zero(n, n);
      expected.topLeftCorner(n - 1, n - 1) = to_dense(A).topLeftCorner(n - 1, n - 1).inverse();
      each_inverse(A, false, [&](const dense& found) {
        CHECK(largest(found - expected) <= 10 * rounding<TestType> * largest(expected));
        CHECK(largest(found.row(n - 1)) == 0);
        CHECK(largest(found.col(n - 1)) == 0);
      });
    }
  }
}

TEMPLATE_TEST_CASE("unknowns without a pivot are left out", "[amg]", float, double) {
  const int n = 80;
  for (const std::vector<int>& empty : {std::vector<int>{0}, {31, 32}, {40}, {79}, {0, 1, 33, 64, 79}}) {
    const auto is_empty = [&](int i) { return std::find(empty.begin(), empty.end(), i) != empty.end(); };
    triplets<TestType> A(n);
    dense complete = dense::Zero(n, n);
    for (int i = 0; i < n; ++i) {
      std::vector<std::pair<int, double>> row;
      for (int j = i - 1; j <= i + 1; ++j)
        if (j >= 0 && j < n && !is_empty(i) && !is_empty(j)) row.emplace_back(j, i == j ? 3 : -1);
      if (is_empty(i) && i % 2 == 1) row.emplace_back(i, 0);
      for (const auto& [j, value] : row) complete(i, j) = value;
      if (is_empty(i)) complete(i, i) = 1;
      A.row(row);
    }
    dense expected = complete.inverse();
    for (const int i : empty) expected(i, i) = 0;
    each_inverse(A, false, [&](const dense& found) {
      CHECK(largest(found - expected) <= rounding<TestType> * largest(expected));
      for (const int i : empty) {
        CHECK(largest(found.row(i)) == 0);
        CHECK(largest(found.col(i)) == 0);
      }
    });
  }
}

TEST_CASE("one iteration solves what is inverted as a whole", "[amg]") {
  const whilst::csr_matrix<double> A = grid<double>(120, 10, 0.1).matrix();
  const std::vector<double> b = random_vector<double>(120, 3);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    std::vector<double> x(120);
    const whilst::report r = whilst::linear_solver<double>(
                                 A, {.method = "cg", .preconditioner = "amg,precision=double", .executor = executor})
                                 .solve(b, x);
    CHECK(r.converged());
    CHECK(r.iterations() <= 2);
    CHECK(relative_residual(A, b, x) < 1e-8);
  }
}

}  // namespace whilst_test
