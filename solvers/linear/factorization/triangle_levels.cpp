#include "solvers/linear/factorization/triangle_levels.hpp"

#include <algorithm>
#include <numeric>

namespace whilst::factorization {

triangle_levels in_levels(const sparse_rows& triangle, bool upper) {
  const index_type n = triangle.rows();
  indices level(static_cast<std::size_t>(n), 0);
  indices offsets{0};
  for (index_type k = 0; k < n; ++k) {
    const index_type i = upper ? n - 1 - k : k;
    std::int32_t& mine = level[static_cast<std::size_t>(i)];
    for (std::size_t e = triangle.begin(i); e < triangle.end(i); ++e)
      mine = std::max(mine, level[static_cast<std::size_t>(triangle.columns[e])] + 1);
    if (offsets.size() < static_cast<std::size_t>(mine) + 2) offsets.resize(static_cast<std::size_t>(mine) + 2);
    ++offsets[static_cast<std::size_t>(mine) + 1];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());

  triangle_levels result{indices(static_cast<std::size_t>(n)), offsets, {}};
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(n); ++i)
    result.row_at[static_cast<std::size_t>(offsets[static_cast<std::size_t>(level[static_cast<std::size_t>(i)])]++)] =
        i;
  const indices place = inverse_of(result.row_at);
  for (const std::int32_t i : result.row_at) {
    for (std::size_t e = triangle.begin(i); e < triangle.end(i); ++e)
      result.rows.append(place[static_cast<std::size_t>(triangle.columns[e])], triangle.values[e]);
    result.rows.end_row();
  }
  return result;
}

}  // namespace whilst::factorization
