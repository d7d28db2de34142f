#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst::multigrid {

/// The pattern of a sparse matrix by rows (CSR), in memory of a place; borrowed. The rows of patterns that are made
/// here are in order of their columns, without duplicates.
struct pattern_view {
  index_type rows = 0, columns = 0, nonzeros = 0;
  const std::int32_t *offsets = nullptr, *indices = nullptr;
  /// Rows have at most so many entries, rounded up to a power of two; 256 for more than 128, 0 if that is not known.
  std::int32_t longest = 0;

  /// Rows longer than this are left to the smoother: few matrices have any, and what multigrid does with a row takes
  /// its length squared.
  static constexpr std::int32_t longest_row = 2048;
  WHILST_HD bool is_too_long(index_type i) const { return offsets[i + 1] - offsets[i] > longest_row; }

  double average() const { return rows > 0 ? static_cast<double>(nonzeros) / static_cast<double>(rows) : 0; }
  /// Threads that share a row, a power of two: each has about so many entries, or fewer where there are few rows.
  int lanes(int entries_each) const {
    int lanes = 1;
    while (lanes < 32 && lanes < average() && (lanes * entries_each < average() || has_few_rows(2 * lanes))) lanes *= 2;
    return lanes;
  }
  /// Whether a GPU has room for all threads if so many share a row.
  bool has_few_rows(int lanes) const { return rows * lanes <= 1 << 17; }
  /// Calls use(e, column) for the entries e of row i that the calling thread of a team works on.
  template <class Team, class Use>
  WHILST_HD void each_entry(index_type i, const Team& team, const Use& use) const {
    const std::int32_t end = offsets[i + 1];
    for (std::int32_t e = offsets[i] + team.rank(); e < end; e += team.size()) use(e, indices[e]);
  }
  /// The first entry of row i whose column is at least that, or the row's end; the row is in order.
  WHILST_HD std::int32_t find(index_type i, std::int32_t column) const {
    std::int32_t begin = offsets[i], end = offsets[i + 1];
    while (begin < end) {
      const std::int32_t middle = begin + (end - begin) / 2;
      if (indices[middle] < column) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }
};

/// A matrix: its pattern and its values; borrowed.
template <class C>
struct matrix_view {
  pattern_view pattern;
  const C* values = nullptr;
};

}  // namespace whilst::multigrid
