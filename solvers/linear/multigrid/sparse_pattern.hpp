#pragma once

#include <cstdint>
#include <utility>

#include "whilst/basics/host_device.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst::multigrid {

/// The pattern of a sparse matrix by rows (CSR), in memory of a place; borrowed.
struct pattern_view {
  index_type rows = 0, columns = 0, nonzeros = 0;
  const std::int32_t *offsets = nullptr, *indices = nullptr;

  /// Threads that share a row when each has but little to do for an entry: a power of two, two entries each.
  int lanes() const {
    int lanes = 1;
    while (lanes < 32 && 2 * lanes * rows < nonzeros) lanes *= 2;
    return lanes;
  }
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

/// A pattern that owns its arrays; each row in order of its columns, without duplicates.
class sparse_pattern {
 public:
  sparse_pattern() = default;
  sparse_pattern(index_type rows, index_type columns, buffer<std::int32_t> offsets, buffer<std::int32_t> indices)
      : view_{rows, columns, indices.size(), offsets.data(), indices.data()},
        offsets_(std::move(offsets)),
        indices_(std::move(indices)) {}
  const pattern_view& view() const { return view_; }
  index_type bytes() const { return offsets_.bytes() + indices_.bytes(); }

 private:
  pattern_view view_;
  buffer<std::int32_t> offsets_, indices_;
};

/// A matrix: its pattern and its values; borrowed.
template <class C>
struct matrix_view {
  pattern_view pattern;
  const C* values = nullptr;
};

}  // namespace whilst::multigrid
