#pragma once

/// Matrices as cuSPARSE reads them, laid out on the host.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "solvers/linear/formats/bsr_layout.hpp"
#include "solvers/linear/formats/host_pattern.hpp"
#include "whilst/csr_matrix.hpp"

namespace whilst::baselines {

/// Sliced ELLPACK: slices of rows, each padded to its longest row and stored by columns. Padding has column -1.
template <class T>
struct sliced_ell {
  index_type rows_a_slice;
  std::vector<std::int32_t> slice_offsets, columns;
  std::vector<T> values;
};

/// Throws whilst::error if there are too many entries for 32 bits. A: in host memory; and so below.
template <class T>
sliced_ell<T> lay_out_slices(const csr_matrix<T>& A, index_type rows_a_slice) {
  const host_pattern pattern(A);
  const index_type slices = (A.rows() + rows_a_slice - 1) / rows_a_slice;
  sliced_ell<T> made{rows_a_slice, {0}, {}, {}};
  const auto end_of = [&](index_type slice) { return std::min((slice + 1) * rows_a_slice, A.rows()); };
  index_type stored = 0;
  for (index_type slice = 0; slice < slices; ++slice) {
    index_type longest = 0;
    for (index_type i = slice * rows_a_slice; i < end_of(slice); ++i) longest = std::max(longest, pattern.length(i));
    stored += longest * rows_a_slice;
    check_stored_entries("sliced ELLPACK", stored);
    made.slice_offsets.push_back(static_cast<std::int32_t>(stored));
  }
  made.columns.assign(static_cast<std::size_t>(stored), -1);
  made.values.assign(static_cast<std::size_t>(stored), T(0));
  for (index_type i = 0; i < A.rows(); ++i) {
    auto to =
        static_cast<std::size_t>(made.slice_offsets[static_cast<std::size_t>(i / rows_a_slice)] + i % rows_a_slice);
    for (index_type k = pattern.begin(i); k < pattern.begin(i + 1); ++k) {
      made.columns[to] = pattern.column(k);
      made.values[to] = A.values()[static_cast<std::size_t>(k)];
      to += static_cast<std::size_t>(rows_a_slice);
    }
  }
  return made;
}

/// Dense blocks of size x size, row by row within a block, with zeros where the matrix has no entry. The last blocks
/// may reach beyond the matrix.
template <class T>
struct filled_blocks {
  int size;
  std::vector<std::int32_t> row_offsets, columns;  ///< of blocks, sorted within a row
  std::vector<T> values;

  index_type rows() const { return static_cast<index_type>(row_offsets.size()) - 1; }
  index_type blocks() const { return static_cast<index_type>(columns.size()); }
};

/// Blocks of the size that format bsr takes. Throws whilst::error where that format does not pay.
template <class T>
filled_blocks<T> lay_out_filled_blocks(const csr_matrix<T>& A) {
  const bsr_layout layout = lay_out_blocks(host_pattern(A), sizeof(T));
  const auto entries = static_cast<std::size_t>(layout.block * layout.block);
  const auto column_of = [&](std::size_t block) {
    const std::int32_t column = layout.columns[block];
    return column < 0 ? ~column : column;  // a block with padding
  };
  std::vector<std::size_t> order(layout.columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto at = [&](std::int32_t offset) { return order.begin() + offset; };
  for (std::size_t row = 0; row + 1 < layout.row_offsets.size(); ++row)
    std::stable_sort(at(layout.row_offsets[row]), at(layout.row_offsets[row + 1]),
                     [&](std::size_t one, std::size_t other) { return column_of(one) < column_of(other); });
  filled_blocks<T> made{layout.block, layout.row_offsets, {}, std::vector<T>(layout.origin.size(), T(0))};
  made.columns.reserve(order.size());
  auto to = made.values.begin();
  for (const std::size_t block : order) {
    made.columns.push_back(column_of(block));
    for (std::size_t k = block * entries; k < (block + 1) * entries; ++k, ++to)
      if (layout.origin[k] >= 0) *to = A.values()[static_cast<std::size_t>(layout.origin[k])];
  }
  return made;
}

}  // namespace whilst::baselines
