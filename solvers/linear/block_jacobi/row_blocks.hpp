#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst::block_jacobi {

/// The largest block.
inline constexpr int most_rows = 64;

struct row_block {
  std::int32_t first;
  int rows;
};

/// Rows divided into blocks of consecutive ones: all of the same size but for the last one, or at given offsets.
struct row_blocks {
  std::int32_t rows = 0, count = 0;
  int most = 1;                                          ///< rows of the largest block
  const std::int32_t *offsets = nullptr, *of = nullptr;  ///< count + 1, and each row's block; null for equal blocks

  WHILST_HD row_block block(std::int32_t k) const {
    if (k >= count) return {rows, 0};
    const std::int32_t first = offsets ? offsets[k] : k * most;
    const std::int32_t end = offsets ? offsets[k + 1] : (rows - first < most ? rows : first + most);
    return {first, end - first};
  }
  WHILST_HD row_block block_of_row(std::int32_t i) const { return block(of ? of[i] : i / most); }
  /// Where the dense matrix of a block begins, column by column, in an array of size() numbers.
  WHILST_HD index_type begin(const row_block& of_rows) const { return index_type{of_rows.first} * most; }
  WHILST_HD index_type size() const { return index_type{rows} * most; }
};

}  // namespace whilst::block_jacobi
