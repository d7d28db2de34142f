// compiled by nvcc where CUDA is on
// Rows of the prolongation of smoothed aggregation, by hand.
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/hierarchy_there.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

TEMPLATE_TEST_CASE("amg: across a jump in coefficients, the low side follows the high side", "[linear][amg]", float,
                   double) {
  // A line of cells that conduct 1 and, from the middle on, a million; between two, their harmonic mean.
  constexpr int n = 12, high = n / 2;
  constexpr double much = 1e6, between = 2 * much / (1 + much);
  const auto conducted = [](int i) { return i < high ? 1 : i > high ? much : between; };  // from cell i - 1 to i
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{i, conducted(i) + conducted(i + 1)}};
    if (i > 0) row.emplace_back(i - 1, -conducted(i));
    if (i + 1 < n) row.emplace_back(i + 1, -conducted(i + 1));
    t.row(row);
  }
  const hierarchy_there<TestType> made(whilst::place::host(), t.matrix(), /*symmetric=*/true,
                                       {.coarsest_rows = 1, .most_levels = 2});
  const auto& fine = made.levels.levels().front();
  const auto weight = [&](int i, std::int32_t aggregate) {
    for (std::int32_t q = fine.P.offsets[i]; q < fine.P.offsets[i + 1]; ++q)
      if (fine.P.indices[q] == aggregate) return static_cast<double>(fine.P_values[q]);
    return 0.0;
  };
  const std::int32_t of_low = fine.aggregate[high - 1], of_high = fine.aggregate[high];
  REQUIRE(of_low >= 0);
  REQUIRE(of_high >= 0);
  REQUIRE(of_low != of_high);
  // W is 4/3 over the diagonal and the row's other sizes.
  const double rounding = 4 * std::numeric_limits<TestType>::epsilon(), size = 2 * (1 + between);
  CHECK(weight(high - 1, of_high) == Approx(4.0 / 3 / size * between).epsilon(rounding));
  CHECK(weight(high, of_low) == 0);  // to which it conducts a millionth of what it does to others
}

}  // namespace whilst_test
