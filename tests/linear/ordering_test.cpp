// Orders of rows for incomplete factors.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "solvers/linear/factorization/block_triangular.hpp"
#include "solvers/linear/factorization/elimination.hpp"
#include "solvers/linear/factorization/ordering.hpp"
#include "tests/catch.hpp"

namespace whilst_test {

namespace factorization = whilst::factorization;
using factorization::indices;
using factorization::sparse_rows;

namespace {

/// Rows that are joined in pairs. Diagonally dominant, symmetric; numbered in random order.
class graph {
 public:
  explicit graph(int n) : name_(factorization::in_turn(n)), neighbours_(static_cast<std::size_t>(n)) {
    std::shuffle(name_.begin(), name_.end(), generator_);
  }
  void join(int a, int b) {
    const std::int32_t i = name_[static_cast<std::size_t>(a)], j = name_[static_cast<std::size_t>(b)];
    neighbours_[static_cast<std::size_t>(i)].push_back(j);
    neighbours_[static_cast<std::size_t>(j)].push_back(i);
  }
  sparse_rows matrix() const {
    sparse_rows A;
    for (std::size_t i = 0; i < neighbours_.size(); ++i) {
      indices row = neighbours_[i];
      row.push_back(static_cast<std::int32_t>(i));
      std::sort(row.begin(), row.end());
      for (const std::int32_t j : row)
        A.append(j, j == static_cast<std::int32_t>(i) ? 1 + static_cast<double>(row.size()) : -1);
      A.end_row();
    }
    return A;
  }

 private:
  std::mt19937 generator_{3};
  indices name_;
  std::vector<indices> neighbours_;
};

graph grid(int side, int others = 0) {
  graph result(side * side + others);
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      if (i + 1 < side) result.join(i * side + j, (i + 1) * side + j);
      if (j + 1 < side) result.join(i * side + j, i * side + j + 1);
    }
  }
  return result;
}

bool is_permutation(const indices& order, std::int32_t n) {
  const indices all = factorization::in_turn(n);
  return std::is_permutation(order.begin(), order.end(), all.begin(), all.end());
}

/// Entries beside the diagonal of the complete factor.
whilst::index_type filled(const sparse_rows& A, const indices& order) {
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 0.0);
  return incomplete_cholesky(permuted(A, {ones, ones}, order, order), {}).U.nonzeros();
}

}  // namespace

TEST_CASE("reverse Cuthill-McKee narrows a shuffled band", "[linear][ilu]") {
  constexpr int side = 30, n = side * side + 2;
  graph joined = grid(side, 2);
  joined.join(n - 2, n - 1);
  const sparse_rows A = joined.matrix();
  const indices order = factorization::reverse_cuthill_mckee(A);
  REQUIRE(is_permutation(order, n));
  const indices place = factorization::inverse_of(order);
  int width = 0;
  for (int i = 0; i < n; ++i)
    for (std::size_t e = A.begin(i); e < A.end(i); ++e)
      width =
          std::max(width, std::abs(place[static_cast<std::size_t>(i)] - place[static_cast<std::size_t>(A.columns[e])]));
  CHECK(width <= 2 * side);
}

TEST_CASE("minimum degree fills in nothing on trees, and little on grids", "[linear][ilu]") {
  std::mt19937 generator(8);
  for (const int n : {1, 2, 3, 10, 400}) {
    graph tree(n);
    for (int i = 1; i < n; ++i) tree.join(i, static_cast<int>(generator() % static_cast<unsigned>(i)));
    const indices order = factorization::minimum_degree(tree.matrix());
    REQUIRE(is_permutation(order, n));
    CHECK(filled(tree.matrix(), order) == n - 1);
  }
  // A hub that is joined with all: last, it fills in nothing.
  graph star(500);
  for (int i = 1; i < 500; ++i) star.join(0, i);
  CHECK(filled(star.matrix(), factorization::minimum_degree(star.matrix())) == 499);

  const sparse_rows A = grid(40).matrix();
  const indices order = factorization::minimum_degree(A);
  REQUIRE(is_permutation(order, 1600));
  CHECK(filled(A, order) < filled(A, factorization::reverse_cuthill_mckee(A)) / 2);
}

TEST_CASE("orders of matrices without entries", "[linear][ilu]") {
  sparse_rows nothing;
  for (int n = 0; n < 4; ++n, nothing.end_row()) {
    CHECK(is_permutation(factorization::reverse_cuthill_mckee(nothing), n));
    CHECK(is_permutation(factorization::minimum_degree(nothing), n));
  }
}

TEST_CASE("blocks are what reaches itself, and nothing is left of them", "[linear][ilu]") {
  // 0 <-> 2, 3 -> 0, 1 alone and reached by all: 3, then 0 and 2, then 1.
  sparse_rows small;
  for (const auto& row : {std::vector<int>{0, 1, 2}, {1}, {0, 1, 2}, {0, 1, 3}}) {
    for (const int j : row) small.append(j, 1);
    small.end_row();
  }
  const factorization::diagonal_blocks found = factorization::block_triangular_order(small);
  CHECK(found.order == indices{3, 0, 2, 1});
  CHECK(found.offsets == indices{0, 1, 3, 4});

  // The oracle: who reaches whom, by Warshall's algorithm.
  std::mt19937 generator(4);
  for (const int n : {1, 2, 5, 30, 60}) {
    for (const int degree : {0, 1, 2}) {
      std::vector<std::vector<char>> reaches(static_cast<std::size_t>(n),
                                             std::vector<char>(static_cast<std::size_t>(n)));
      sparse_rows A;
      for (std::size_t i = 0; i < reaches.size(); ++i) {
        reaches[i][i] = true;
        for (int k = 0; k < degree; ++k) reaches[i][generator() % reaches.size()] = true;
        for (std::size_t j = 0; j < reaches.size(); ++j)
          if (reaches[i][j]) A.append(static_cast<std::int32_t>(j), 1);
        A.end_row();
      }
      for (std::size_t k = 0; k < reaches.size(); ++k)
        for (auto& row : reaches)
          for (std::size_t j = 0; j < reaches.size(); ++j) row[j] |= row[k] & reaches[k][j];
      const factorization::diagonal_blocks blocks = factorization::block_triangular_order(A);
      REQUIRE(is_permutation(blocks.order, n));
      for (std::size_t b = 0; b < blocks.count(); ++b) {
        const auto first = static_cast<std::size_t>(blocks.offsets[b]),
                   end = static_cast<std::size_t>(blocks.offsets[b + 1]);
        const auto row = [&](std::size_t k) { return static_cast<std::size_t>(blocks.order[k]); };
        for (std::size_t k = first; k < end; ++k) {
          for (std::size_t l = 0; l < end; ++l) CHECK(bool(reaches[row(k)][row(l)]) == (l >= first));
          CHECK((k == first || blocks.order[k - 1] < blocks.order[k]));
        }
      }
    }
  }
  // As long as its path, a recursion would be.
  sparse_rows cycle;
  for (std::int32_t i = 0; i < 200'000; ++i) {
    cycle.append((i + 1) % 200'000, 1);
    cycle.end_row();
  }
  CHECK(factorization::block_triangular_order(cycle).count() == 1);
  CHECK(factorization::block_triangular_order({}).count() == 0);
}

TEST_CASE("orders and matchings that take too much are given up", "[linear][ilu]") {
  const sparse_rows A = grid(40).matrix();
  CHECK_FALSE(factorization::minimum_degree(A, {.most_operations = 5000}));
  CHECK(factorization::minimum_degree(A, {.most_operations = 50'000'000}) == factorization::minimum_degree(A));
}

}  // namespace whilst_test
