// compiled by nvcc where CUDA is on
// Rows of the prolongation of smoothed aggregation, by hand.
#define EIGEN_NO_CUDA  // what the host's part of the tests includes; nvcc warns about its annotations for devices

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/hierarchy_there.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {
namespace {

/// Two levels of a line of cells; conducted[i]: from cell i - 1 to i, through the walls at both ends.
template <class C>
hierarchy_there<C> levels_of_line(const std::vector<double>& conducted) {
  const int n = static_cast<int>(conducted.size()) - 1;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    const double before = conducted[static_cast<std::size_t>(i)], behind = conducted[static_cast<std::size_t>(i + 1)];
    std::vector<std::pair<int, double>> row{{i, before + behind}};
    if (i > 0) row.emplace_back(i - 1, -before);
    if (i + 1 < n) row.emplace_back(i + 1, -behind);
    t.row(row);
  }
  return {whilst::place::host(), t.matrix(), /*symmetric=*/true, {.coarsest_rows = 1, .most_levels = 2}};
}
/// Row i of P: weights by aggregates.
template <class C>
std::map<std::int32_t, double> row_of_P(const whilst::multigrid::level<C>& fine, int i) {
  std::map<std::int32_t, double> row;
  for (std::int32_t q = fine.P.offsets[i]; q < fine.P.offsets[i + 1]; ++q)
    row[fine.P.indices[q]] = static_cast<double>(fine.P_values[q]);
  return row;
}
template <class C>
constexpr double rounding = 4 * std::numeric_limits<C>::epsilon();

}  // namespace

TEMPLATE_TEST_CASE("amg: across a jump in coefficients, the low side follows the high side", "[linear][amg]", float,
                   double) {
  // Cells that conduct 1 and, from the middle on, a million; between two, their harmonic mean.
  constexpr int high = 6;
  constexpr double much = 1e6, between = 2 * much / (1 + much);
  std::vector<double> conducted(high, 1.0);
  conducted.push_back(between);
  conducted.resize(13, much);
  const auto made = levels_of_line<TestType>(conducted);
  const auto& fine = made.levels.levels().front();
  const std::int32_t of_low = fine.aggregate[high - 1], of_high = fine.aggregate[high];
  REQUIRE(of_low >= 0);
  REQUIRE(of_high >= 0);
  REQUIRE(of_low != of_high);
  // W is 4/3 over the diagonal and the row's other sizes.
  const double size = 2 * (1 + between);
  CHECK(row_of_P(fine, high - 1)[of_high] == Approx(4.0 / 3 / size * between).epsilon(rounding<TestType>));
  CHECK(row_of_P(fine, high).count(of_low) == 0);  // to which it conducts a millionth of what it does to others
}

TEMPLATE_TEST_CASE("amg: an unknown between two jumps is in no aggregate, and P keeps the constant", "[linear][amg]",
                   float, double) {
  // Unknown 4 has 4 on one side and 100 on the other: too little beside 100 and 10 000 to join those.
  const auto made = levels_of_line<TestType>({1, 1, 1, 1, 4, 100, 1e4, 1e4, 1e4, 1e4, 1e4, 1e4, 1e4});
  const auto& fine = made.levels.levels().front();
  REQUIRE(fine.aggregate[4] < 0);
  REQUIRE(fine.aggregate[3] >= 0);
  REQUIRE(fine.aggregate[5] >= 0);
  // Unknown 3 would follow it, and has nothing to take from there.
  double sum = 0;
  for (const auto& [aggregate, weight] : row_of_P(fine, 3)) sum += weight;
  CHECK(sum == Approx(1).epsilon(rounding<TestType>));
  // It follows unknown 5, by its own equation: (104 - 4) e_4 = 100 e_5.
  const auto of_4 = row_of_P(fine, 4);
  REQUIRE(of_4.count(fine.aggregate[5]) == 1);
  CHECK(of_4.at(fine.aggregate[5]) == Approx(1).epsilon(rounding<TestType>));
  CHECK(of_4.size() == 1);
}

}  // namespace whilst_test
