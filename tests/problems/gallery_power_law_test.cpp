#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/gallery.hpp"

namespace whilst {
namespace {

template <class T>
std::vector<index_type> lengths_of(const csr_matrix<T>& A) {
  std::vector<index_type> lengths;
  for (index_type i = 0; i < A.rows(); ++i) lengths.push_back(A.row_offset(i + 1) - A.row_offset(i));
  return lengths;
}

}  // namespace

TEST_CASE("gallery: rows of a power law have its lengths, far apart if they are long", "[gallery]") {
  const index_type n = 4096;
  const auto A = make_gallery<double>("powerlaw:" + std::to_string(n)).matrix;
  REQUIRE(A.rows() == n);
  std::vector<index_type> lengths = lengths_of(A);
  const auto longest = std::max_element(lengths.begin(), lengths.end());
  REQUIRE(longest - lengths.begin() >= 80);
  REQUIRE(lengths.end() - longest > 80);
  CHECK(*std::max_element(longest - 80, longest) < *longest / 8);
  CHECK(*std::max_element(longest + 1, longest + 81) < *longest / 8);

  std::sort(lengths.rbegin(), lengths.rend());
  index_type total = 0;
  for (index_type rank = 0; rank < n; ++rank) {
    // The quantiles of a power law, by the exponent instead of square roots; one more for the diagonal.
    const double others = 2.375 * std::pow(static_cast<double>(n) / (static_cast<double>(rank) + 0.5), 0.75);
    CHECK(std::abs(static_cast<double>(lengths[static_cast<std::size_t>(rank)]) - 1 - std::floor(others)) <=
          (std::abs(others - std::round(others)) < 1e-9 ? 1 : 0));
    total += lengths[static_cast<std::size_t>(rank)];
  }
  CHECK(total == A.nonzeros());
  CHECK(total > 9 * n);
  CHECK(total < 11 * n);
}

TEST_CASE("gallery: rows of a power law are diagonally dominant, their columns distinct", "[gallery]") {
  for (const char* name : {"powerlaw:1", "powerlaw:2", "powerlaw:3", "powerlaw:100", "powerlaw:3000"}) {
    CAPTURE(name);
    const auto problem = make_gallery<double>(name);
    const auto& A = problem.matrix;
    bool is_sorted = true, is_dominant = true, is_between = true;
    double least_others = 1, most_others = -1;
    for (index_type i = 0; i < A.rows(); ++i) {
      double diagonal = 0, others = 0;
      std::int32_t before = -1;
      for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
        const auto at = static_cast<std::size_t>(k);
        const std::int32_t column = A.column_indices()[at];
        const double value = A.values()[at];
        is_sorted = is_sorted && before < column && column < A.columns();
        before = column;
        if (column == i) {
          diagonal = value;
          continue;
        }
        others += std::abs(value);
        is_between = is_between && std::abs(value) < 1;
        least_others = std::min(least_others, value);
        most_others = std::max(most_others, value);
      }
      // Sums of as many numbers as the row has.
      const double rounding = static_cast<double>(A.row_offset(i + 1) - A.row_offset(i)) *
                              std::numeric_limits<double>::epsilon() * (1 + others);
      is_dominant = is_dominant && std::abs(diagonal - 1 - others) <= rounding;
    }
    CHECK(is_sorted);
    CHECK(is_dominant);
    CHECK(is_between);
    if (A.rows() < 100) continue;
    CHECK(least_others < -0.9);  // of hundreds of numbers spread between -1 and 1
    CHECK(most_others > 0.9);
    CHECK(problem.rhs == std::vector<double>(problem.rhs.size(), 1.0));
  }
}

TEST_CASE("gallery: a power law is the same each time", "[gallery]") {
  const auto one = make_gallery<double>("powerlaw:5000").matrix, other = make_gallery<double>("powerlaw:5000").matrix;
  CHECK(std::equal(one.values().begin(), one.values().end(), other.values().begin(), other.values().end()));
  CHECK(std::equal(one.column_indices().begin(), one.column_indices().end(), other.column_indices().begin(),
                   other.column_indices().end()));
}

}  // namespace whilst
