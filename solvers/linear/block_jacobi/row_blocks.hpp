#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst::block_jacobi {

struct row_block {
  std::int32_t first;
  int rows;
};

/// Rows divided into blocks of consecutive ones: all of the same size but for the last one, or at given offsets.
struct row_blocks {
  static constexpr int most_rows = 64, threads = 128;  ///< of the largest block, and of the team that inverts blocks

  std::int32_t rows = 0, count = 0;
  int most = 1;                                          ///< rows of the largest block
  const std::int32_t *offsets = nullptr, *of = nullptr;  ///< count + 1, and each row's block; null for equal blocks

  WHILST_HD row_block block(std::int32_t k) const {
    if (k >= count) return {rows, 0};
    const std::int32_t first = offsets ? offsets[k] : k * most;
    const std::int32_t end = offsets ? offsets[k + 1] : (rows - first < most ? rows : first + most);
    return {first, end - first};
  }
  WHILST_HD row_block block_with(index_type i) const { return block(of ? of[i] : static_cast<std::int32_t>(i) / most); }
  /// Where the dense matrix of a block begins, column by column, in an array of size() numbers.
  WHILST_HD index_type begin(const row_block& of_rows) const { return index_type{of_rows.first} * most; }
  WHILST_HD index_type size() const { return index_type{rows} * most; }

  /// What row_sets have otherwise.
  WHILST_HD static index_type kept_row(const row_block& of_rows, index_type i) { return i - of_rows.first; }
  WHILST_HD static int rows_kept(const row_block& of_rows) { return of_rows.rows; }
  WHILST_HD static std::int32_t row(const row_block& of_rows, int k) { return of_rows.first + k; }
  WHILST_HD static int find(const row_block& of_rows, std::int32_t column) {
    const std::int32_t k = column - of_rows.first;
    return k >= 0 && k < of_rows.rows ? k : -1;
  }
  WHILST_HD static double weight(const row_block&, int) { return 1; }
  WHILST_HD static index_type target(const row_block&, index_type i) { return i; }
};

}  // namespace whilst::block_jacobi
