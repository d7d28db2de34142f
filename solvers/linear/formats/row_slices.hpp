#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "solvers/linear/formats/host_pattern.hpp"
#include "solvers/linear/host_array.hpp"

namespace whilst {

inline constexpr index_type warp_threads = 32;

/// The slices of SELL-C-sigma: a warp's rows, each as long as the longest of them.
struct row_slices {
  std::vector<std::int32_t> offsets;  ///< where each slice begins, in steps: a step has an entry for each of its rows
  std::vector<std::int32_t> row_of;   ///< the row at each place, -1 beyond the last; empty: rows in their own order

  index_type count() const { return static_cast<index_type>(offsets.size()) - 1; }
  index_type steps() const { return offsets.back(); }
};

namespace detail {

/// The rows by falling length within each sigma, those of equal length in order.
template <class Length>
std::vector<std::int32_t> sorted_rows(index_type rows, const Length& length_of) {
  constexpr std::size_t sigma = 4096;
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  visit_ranges(order.size(), [&](std::size_t begin, std::size_t end) {  // ranges of 65 536, so of whole windows
    for (std::size_t first = begin; first < end; first += sigma)
      std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first),
                       order.begin() + static_cast<std::ptrdiff_t>(std::min(first + sigma, end)),
                       [&](std::int32_t one, std::int32_t other) { return length_of(one) > length_of(other); });
  });
  return order;
}

}  // namespace detail

/// Slices of rows_each rows, sorted by length, where that moves any. entries_a_step: what a slice stores a step, of
/// which a format holds so many.
template <class Length>
row_slices slice_rows_of(index_type rows, index_type rows_each, const Length& length_of, std::string_view format,
                         index_type entries_a_step) {
  row_slices made;
  const index_type slices = (rows + rows_each - 1) / rows_each;
  made.row_of = detail::sorted_rows(rows, length_of);
  if (std::is_sorted(made.row_of.begin(), made.row_of.end())) made.row_of.clear();
  if (!made.row_of.empty()) made.row_of.resize(static_cast<std::size_t>(slices * rows_each), -1);
  made.offsets.assign(static_cast<std::size_t>(slices) + 1, 0);
  index_type steps = 0;
  for (index_type slice = 0; slice < slices; ++slice) {
    index_type longest = 0;
    for (index_type place = slice * rows_each; place < (slice + 1) * rows_each; ++place) {
      const index_type row = made.row_of.empty() ? place : made.row_of[static_cast<std::size_t>(place)];
      if (row >= 0 && row < rows) longest = std::max(longest, static_cast<index_type>(length_of(row)));
    }
    steps += longest;
    check_stored_entries(format, steps * entries_a_step);
    made.offsets[static_cast<std::size_t>(slice) + 1] = static_cast<std::int32_t>(steps);
  }
  return made;
}

}  // namespace whilst
