#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/linear_operator.hpp"

namespace whilst::approximate_inverse {

/// A matrix whose rows are in order, so that entries are found by bisection. An entry that is given several times lies
/// there as often, side by side.
struct rows_in_order {
  multigrid::pattern_view pattern;
  const std::int32_t* sources = nullptr;  ///< which entry of the given matrix each one is; null for the same
};

/// The pattern as it is, if its rows are in order already; else with its columns sorted, in pieces of `kept`. Waits.
rows_in_order in_order(place where, const multigrid::pattern_view& A, multigrid::level_memory& kept,
                       multigrid::level_memory& scratch);

/// The values of such a matrix, times *scale: what the given one has at launch.
template <class T>
struct ordered_matrix {
  rows_in_order rows;
  constant_slot<const T> values;
  const double* scale;

  WHILST_HD double value(std::int32_t e) const {
    return *scale * static_cast<double>(values.get()[rows.sources ? rows.sources[e] : e]);
  }
  /// The sum of the entries from e on that are in e's column; e moves on behind them.
  WHILST_HD double take(std::int32_t& e, std::int32_t end) const {
    const std::int32_t column = rows.pattern.indices[e];
    double sum = 0;
    for (; e < end && rows.pattern.indices[e] == column; ++e) sum += value(e);
    return sum;
  }
  WHILST_HD double entry(index_type i, std::int32_t j) const {
    const std::int32_t end = rows.pattern.offsets[i + 1];
    std::int32_t e = rows.pattern.find(i, j);
    return e < end && rows.pattern.indices[e] == j ? take(e, end) : 0;
  }
  /// The dot product of two rows.
  WHILST_HD double product_of_rows(index_type i, index_type j) const {
    const std::int32_t *const offsets = rows.pattern.offsets, *const indices = rows.pattern.indices;
    std::int32_t e = offsets[i], f = offsets[j];
    const std::int32_t end_e = offsets[i + 1], end_f = offsets[j + 1];
    double sum = 0;
    while (e < end_e && f < end_f) {
      if (indices[e] < indices[f]) {
        ++e;
      } else if (indices[f] < indices[e]) {
        ++f;
      } else {
        const double one = take(e, end_e);
        sum += one * take(f, end_f);
      }
    }
    return sum;
  }
};

}  // namespace whilst::approximate_inverse
