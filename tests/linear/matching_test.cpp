// Maximum product matchings, against all permutations of small matrices.
#include <algorithm>
#include <cmath>
#include <random>

#include "solvers/linear/factorization/matching.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::index_type;
namespace factorization = whilst::factorization;
using factorization::indices;
using factorization::matching;
using factorization::sparse_rows;

namespace {

/// Entries of sizes from 1e-4 to 1e4, each there with a probability.
sparse_rows scattered(int n, double density, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  sparse_rows A;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      if (uniform(generator) < density)
        A.append(j, (uniform(generator) < 0.5 ? -1 : 1) * std::pow(10.0, 8 * uniform(generator) - 4));
    A.end_row();
  }
  return A;
}

double entry(const sparse_rows& A, index_type i, std::int32_t j) {
  for (std::size_t e = A.begin(i); e < A.end(i); ++e)
    if (A.columns[e] == j) return A.values[e];
  return 0;
}

/// How many entries a permutation meets, and the sum of the logarithms of their sizes.
struct quality {
  index_type matched = 0;
  double log_product = 0;
};
quality quality_of(const sparse_rows& A, const indices& column_of_row) {
  quality found;
  for (index_type i = 0; i < A.rows(); ++i) {
    const double a = entry(A, i, column_of_row[static_cast<std::size_t>(i)]);
    if (a == 0) continue;
    ++found.matched;
    found.log_product += std::log(std::fabs(a));
  }
  return found;
}
quality best_of_all(const sparse_rows& A) {
  indices columns = factorization::in_turn(A.rows());
  quality best;
  do {
    const quality found = quality_of(A, columns);
    if (found.matched > best.matched || (found.matched == best.matched && found.log_product > best.log_product))
      best = found;
  } while (std::next_permutation(columns.begin(), columns.end()));
  return best;
}

void check_scales(const sparse_rows& A, const matching& found) {
  const auto log_scaled = [&](index_type i, std::int32_t j) {
    return std::log(std::fabs(entry(A, i, j))) + found.scales.row[static_cast<std::size_t>(i)] +
           found.scales.column[static_cast<std::size_t>(j)];
  };
  for (index_type i = 0; i < A.rows(); ++i) {
    for (std::size_t e = A.begin(i); e < A.end(i); ++e) CHECK(log_scaled(i, A.columns[e]) <= 1e-10);
    const std::int32_t j = found.column_of_row[static_cast<std::size_t>(i)];
    if (entry(A, i, j) != 0 && found.matched == A.rows()) CHECK(std::fabs(log_scaled(i, j)) <= 1e-10);
  }
}

}  // namespace

TEST_CASE("a matching has the largest product of all permutations", "[linear][ilu]") {
  int perfect = 0;
  for (int n = 1; n <= 7; ++n) {
    for (unsigned seed = 0; seed < (n < 7 ? 60 : 15); ++seed) {
      const sparse_rows A = scattered(n, seed % 2 == 0 ? 0.5 : 0.25, 100 * seed + static_cast<unsigned>(n));
      const matching found = factorization::maximum_product_matching(A);
      INFO("n = " << n << ", seed " << seed);
      REQUIRE(std::is_permutation(found.column_of_row.begin(), found.column_of_row.end(),
                                  factorization::in_turn(n).begin()));
      const quality mine = quality_of(A, found.column_of_row), best = best_of_all(A);
      CHECK(mine.matched == best.matched);
      CHECK(found.matched == best.matched);
      if (best.matched == n) {
        ++perfect;
        CHECK(mine.log_product >= best.log_product - 1e-9);
      }
      check_scales(A, found);
    }
  }
  CHECK(perfect > 50);
}

TEST_CASE("a large matching is perfect and scales its matrix", "[linear][ilu]") {
  // A permuted diagonal of large entries, hidden among others.
  constexpr int n = 2000;
  std::mt19937 generator(7);
  indices hidden = factorization::in_turn(n);
  std::shuffle(hidden.begin(), hidden.end(), generator);
  std::vector<double> values;
  std::vector<std::int32_t> offsets{0}, columns;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 5; ++k) {
      columns.push_back(k == 0 ? hidden[static_cast<std::size_t>(i)] : static_cast<std::int32_t>(generator() % n));
      values.push_back(k == 0 ? 1e6 : 1.0 + static_cast<double>(generator() % 100));
    }
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  const whilst::csr_matrix<double> A(n, n, offsets, columns, values);
  const sparse_rows rows = factorization::sparse_rows_of(A, A.values_data());
  const matching found = factorization::maximum_product_matching(rows);
  CHECK(found.matched == n);
  CHECK(found.column_of_row == hidden);
  check_scales(rows, found);
}

TEST_CASE("matchings of matrices without entries, and with entries far apart", "[linear][ilu]") {
  CHECK(factorization::maximum_product_matching(sparse_rows()).matched == 0);
  sparse_rows nothing;
  for (int i = 0; i < 3; ++i) nothing.end_row();
  const matching of_nothing = factorization::maximum_product_matching(nothing);
  CHECK(of_nothing.matched == 0);
  CHECK(of_nothing.column_of_row == indices{0, 1, 2});

  sparse_rows far;
  far.append(0, 1e-300);
  far.append(1, 1e300);
  far.end_row();
  far.append(0, 5e-324);
  far.append(1, 1.0);
  far.end_row();
  const matching of_far = factorization::maximum_product_matching(far);
  CHECK(of_far.matched == 2);
  for (const double scale : of_far.scales.row) CHECK(std::isfinite(std::exp(scale)));
}

}  // namespace whilst_test
