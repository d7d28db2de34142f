#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst::schwarz {

/// One of row_sets: where its rows are listed, and its dense matrix.
struct row_set {
  index_type begin;
  std::int32_t first;       ///< of its rows, in the list of all sets
  std::int32_t first_kept;  ///< how many rows the sets before it keep
  std::int32_t rows, own;   ///< its own rows come first; both parts ascend
  std::int32_t kept;        ///< rows of its matrix that are stored: all, or its own ones
};

/// Sets of rows that may overlap, in memory of a place; borrowed. A view that invert_blocks and multiply_by_blocks take
/// instead of block_jacobi::row_blocks.
struct row_sets {
  static constexpr int most_rows = 128, threads = 256;  ///< of the largest set, and of the team that inverts it

  std::int32_t count = 0;
  int most = 1;                      ///< rows of the largest set
  index_type kept = 0, numbers = 0;  ///< rows that all sets keep, and numbers of their stored matrices
  bool adds_up = false;  ///< each kept row has an entry of its own, of a vector of `kept`; else rows have one
  const row_set* sets = nullptr;
  const std::int32_t* rows = nullptr;  ///< of each set, one set after another
  const std::int32_t* of = nullptr;    ///< the set of each kept row
  const double* weights = nullptr;     ///< beside `rows`: 1 over the root of how many sets have a row; null for 1

  WHILST_HD row_set block(std::int32_t k) const { return k < count ? sets[k] : row_set{}; }
  WHILST_HD row_set block_with(index_type i) const { return sets[of[i]]; }
  WHILST_HD index_type begin(const row_set& of_rows) const { return of_rows.begin; }
  WHILST_HD index_type size() const { return numbers; }
  /// Which of the stored rows entry i of the result is.
  WHILST_HD index_type kept_row(const row_set& of_rows, index_type i) const { return i - of_rows.first_kept; }
  WHILST_HD int rows_kept(const row_set& of_rows) const { return of_rows.kept; }
  WHILST_HD std::int32_t row(const row_set& of_rows, int k) const { return rows[of_rows.first + k]; }
  /// Which row of the set a column is; -1 for none.
  WHILST_HD int find(const row_set& of_rows, std::int32_t column) const {
    const int own = find(of_rows, 0, of_rows.own, column);
    return own >= 0 ? own : find(of_rows, of_rows.own, of_rows.rows, column);
  }
  WHILST_HD double weight(const row_set& of_rows, int k) const { return weights ? weights[of_rows.first + k] : 1; }
  WHILST_HD index_type target(const row_set& of_rows, index_type i) const {
    return adds_up ? i : row(of_rows, static_cast<int>(kept_row(of_rows, i)));
  }

 private:
  WHILST_HD int find(const row_set& of_rows, int from, int to, std::int32_t column) const {
    const int end = to;
    while (from < to) {
      const int middle = (from + to) / 2;
      if (row(of_rows, middle) < column) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from < end && row(of_rows, from) == column ? from : -1;
  }
};

}  // namespace whilst::schwarz
