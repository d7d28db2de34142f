// Preconditioner "block_jacobi" as a matrix, against inverses in extended precision and closed forms.
#include <cmath>
#include <limits>
#include <random>

#include "solvers/linear/block_jacobi/block_jacobi.hpp"
#include "tests/catch.hpp"
#include "tests/linear/made_preconditioner.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {
namespace {

using whilst::block_jacobi_options;
using whilst::csr_matrix;

using extended = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// Five entries in most rows, some there twice, columns in no order, dominated by the diagonal.
template <class T>
csr_matrix<T> dominated(int n, bool symmetric, unsigned seed = 3) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<std::vector<std::pair<int, double>>> rows(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    for (const int distance : {1, 2, 5}) {
      const int j = i + distance;
      if (j >= n) continue;
      const double above = value(generator), below = symmetric ? above : value(generator);
      rows[static_cast<std::size_t>(i)].insert(rows[static_cast<std::size_t>(i)].begin(), {j, above});
      rows[static_cast<std::size_t>(j)].emplace_back(i, below);
    }
    rows[static_cast<std::size_t>(i)].emplace_back(i, 5);
    rows[static_cast<std::size_t>(i)].emplace_back(i, 1 + i % 3);
  }
  triplets<T> t(n);
  for (const auto& row : rows) t.row(row);
  return t.matrix();
}

/// The inverses of the blocks at offsets, zero beside them.
template <class T>
extended inverse_of_blocks(const csr_matrix<T>& A, const std::vector<index_type>& offsets, double factor) {
  const extended all = static_cast<long double>(factor) * Eigen::MatrixXd(to_eigen(A)).cast<long double>();
  extended result = extended::Zero(A.rows(), A.rows());
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    const index_type first = offsets[k], size = offsets[k + 1] - first;
    result.block(first, first, size, size) = all.block(first, first, size, size).inverse();
  }
  return result;
}
std::vector<index_type> equal_offsets(index_type n, index_type rows) {
  std::vector<index_type> offsets;
  for (index_type first = 0; first < n; first += rows) offsets.push_back(first);
  offsets.push_back(n);
  return offsets;
}

template <class T>
preconditioner_for_test<T> blocks_with(bool symmetric, const block_jacobi_options& options) {
  return [=](const whilst::solve_request<T>& of) { return whilst::make_block_jacobi<T>(of, symmetric, options); };
}

/// A block is inverted in double, rounded once, and a product with a unit vector is exact. The elimination loses a few
/// digits of double, which only count where nothing is rounded afterwards.
template <class T>
double roundings(const std::string& precision) {
  const bool in_float = sizeof(T) == 4 || precision != "double";
  return in_float ? 2 * static_cast<double>(std::numeric_limits<float>::epsilon())
                  : 64 * std::numeric_limits<double>::epsilon();
}

}  // namespace

TEMPLATE_TEST_CASE("block_jacobi: the inverse of each block", "[linear][block_jacobi]", float, double) {
  using T = TestType;
  for (const way& w : ways())
    for (const bool symmetric : {false, true})
      for (const std::string precision : {"auto", "double"})
        for (const auto& [n, rows] : std::vector<std::pair<int, index_type>>{{1, 1},
                                                                             {1, 64},
                                                                             {7, 2},
                                                                             {33, 4},
                                                                             {50, 5},
                                                                             {40, 8},
                                                                             {70, 16},
                                                                             {70, 17},
                                                                             {100, 32},
                                                                             {100, 33},
                                                                             {130, 64}}) {
          if (under_sanitizers && symmetric == (precision == "double")) continue;  // each of them once
          INFO(w.name << ", " << n << " rows, blocks of " << rows << ", symmetric " << symmetric << ", " << precision);
          const csr_matrix<T> A = dominated<T>(n, symmetric);
          const double factor = n % 2 ? 0.5 : -4;
          const Eigen::MatrixXd M = matrix_of(blocks_with<T>(symmetric, {.rows = rows, .precision = precision}), A, w,
                                              factor, /*wide_offsets=*/n == 33);
          extended exact = inverse_of_blocks(A, equal_offsets(n, rows), factor);
          if (symmetric && factor < 0) exact = -exact;  // M is positive definite
          CHECK(static_cast<double>((M.cast<long double>() - exact).cwiseAbs().maxCoeff()) <=
                roundings<T>(precision) * static_cast<double>(exact.cwiseAbs().maxCoeff()));
          if (symmetric) CHECK((M == M.transpose()));
        }
}

TEMPLATE_TEST_CASE("block_jacobi: blocks of one's own", "[linear][block_jacobi]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = dominated<T>(90, false);
  for (const way& w : ways())
    for (const std::vector<index_type>& offsets :
         std::vector<std::vector<index_type>>{{0, 1, 3, 4, 40, 41, 90}, {0, 64, 90}, equal_offsets(90, 1)}) {
      const Eigen::MatrixXd M = matrix_of(blocks_with<T>(false, {.rows = 7, .offsets = offsets}), A, w);
      const extended exact = inverse_of_blocks(A, offsets, 1);
      INFO(w.name << ", " << offsets.size() - 1 << " blocks");
      CHECK(static_cast<double>((M.cast<long double>() - exact).cwiseAbs().maxCoeff()) <=
            roundings<T>("auto") * static_cast<double>(exact.cwiseAbs().maxCoeff()));
    }
}

TEST_CASE("block_jacobi: pivots are found anywhere in a column", "[linear][block_jacobi]") {
  // A cyclic permutation of rows far apart in size: no pivot is on the diagonal, and each inverse is exact.
  triplets<double> t(5);
  for (int i = 0; i < 5; ++i) t.row({{(i + 2) % 5, std::ldexp(1.0, 20 * i)}});
  for (const way& w : ways()) {
    const Eigen::MatrixXd M = matrix_of(blocks_with<double>(false, {.rows = 5}), t.matrix(), w);
    Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(5, 5);
    for (int i = 0; i < 5; ++i) exact((i + 2) % 5, i) = std::ldexp(1.0, -20 * i);
    CHECK((M == exact));
  }
}

TEST_CASE("block_jacobi: what has no inverse counts as its diagonal", "[linear][block_jacobi]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  struct hostile {
    const char* what;
    std::vector<std::vector<std::pair<int, double>>> rows;
    bool symmetric;
    std::vector<double> diagonal;
  };
  const std::vector<hostile> all{
      {"nothing", {{}, {}}, false, {1, 1}},
      {"nothing", {{}, {}}, true, {1, 1}},
      {"a zero row", {{{0, 4}, {1, 1}}, {}}, false, {0.25, 1}},
      {"singular", {{{0, 2}, {1, 2}}, {{0, 2}, {1, 2}}}, false, {0.5, 0.5}},
      {"singular", {{{0, 2}, {1, 2}}, {{0, 2}, {1, 2}}}, true, {0.5, 0.5}},
      {"singular, negative", {{{0, -2}, {1, 2}}, {{0, 2}, {1, -2}}}, false, {-0.5, -0.5}},
      {"singular, negative", {{{0, -2}, {1, 2}}, {{0, 2}, {1, -2}}}, true, {0.5, 0.5}},
      {"both signs", {{{0, 2}, {1, 4}}, {{0, 4}, {1, 2}}}, true, {0.5, 0.5}},
      {"both signs on the diagonal", {{{0, 2}}, {{1, -4}}}, true, {0.5, 0.25}},
      {"a NaN", {{{0, 2}, {1, nan}}, {{0, 1}, {1, 2}}}, false, {0.5, 0.5}},
      {"a NaN on the diagonal", {{{0, nan}}, {{1, 2}}}, true, {1, 0.5}},
      {"infinity", {{{0, 2}, {1, infinite}}, {{0, 1}, {1, 2}}}, false, {0.5, 0.5}},
      {"too small for float", {{{0, 1e-200}}, {{1, 2}}}, false, {1, 0.5}},
  };
  for (const way& w : ways())
    for (const hostile& one : all) {
      triplets<double> t(2);
      for (const auto& row : one.rows) t.row(row);
      INFO(w.name << ", " << one.what << ", symmetric " << one.symmetric);
      const Eigen::MatrixXd M = matrix_of(blocks_with<double>(one.symmetric, {.rows = 2}), t.matrix(), w);
      CHECK((M == Eigen::MatrixXd(Eigen::Vector2d(one.diagonal[0], one.diagonal[1]).asDiagonal())));
    }
}

TEST_CASE("block_jacobi: symmetric blocks far apart in size", "[linear][block_jacobi]") {
  // S B S for powers of two in S and the same B: M is S^-1 B^-1 S^-1, as exact as without S.
  const csr_matrix<double> B = dominated<double>(12, true);
  std::vector<double> entries(B.values().begin(), B.values().end());
  const auto scale = [](index_type i) { return std::ldexp(1.0, static_cast<int>(10 * (i % 5) - 20)); };
  for (index_type i = 0; i < 12; ++i)
    for (index_type k = B.row_offset(i); k < B.row_offset(i + 1); ++k)
      entries[static_cast<std::size_t>(k)] *= scale(i) * scale(B.column_indices()[static_cast<std::size_t>(k)]);
  const csr_matrix<double> A(12, 12, B.row_offsets_32(), B.column_indices(), entries);
  for (const way& w : ways()) {
    const Eigen::MatrixXd plain = matrix_of(blocks_with<double>(true, {.rows = 6}), B, w),
                          scaled = matrix_of(blocks_with<double>(true, {.rows = 6}), A, w);
    for (index_type i = 0; i < 12; ++i)
      for (index_type j = 0; j < 12; ++j)
        CHECK(std::abs(scaled(i, j) * scale(i) * scale(j) - plain(i, j)) <=
              roundings<double>("auto") * plain.cwiseAbs().maxCoeff());
  }
}

}  // namespace whilst_test
