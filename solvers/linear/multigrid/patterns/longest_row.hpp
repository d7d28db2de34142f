#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// How many rows have more than 8, 16, 32, 64 and 128 entries.
struct count_long_rows {
  const std::int32_t* offsets;
  WHILST_HD auto operator()(index_type i) const {
    const std::int32_t length = offsets[i + 1] - offsets[i];
    return sums<std::int64_t, 5>{{length > 8, length > 16, length > 32, length > 64, length > 128}};
  }
};
struct tell_longest {
  std::int32_t* told;
  WHILST_HD void operator()(const sums<std::int64_t, 5>& longer) const {
    std::int32_t longest = 8;
    for (int k = 0; k < 5; ++k)
      if (longer[k] > 0) longest = 16 << k;
    *told = longest;
  }
};

/// Records that pattern_view::longest is told; of the pattern, its offsets are enough.
inline void record_longest(recorder& run, const pattern_view& pattern, std::int32_t* told) {
  run.step("the longest row", pattern.rows, count_long_rows{pattern.offsets}, tell_longest{told});
}

}  // namespace whilst::multigrid
