#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "whilst/engine/steps/host_threads.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst::detail {

/// A point of a grid, or the offset from one to another. Axis 0 varies slowest in the numbering of points, axis 2
/// fastest; a grid of fewer dimensions has extent 1 along the missing axes.
using grid_point = std::array<index_type, 3>;

inline bool is_inside(const grid_point& point, const grid_point& extents) {
  for (int axis = 0; axis < 3; ++axis) {
    if (point[axis] < 0 || point[axis] >= extents[axis]) return false;
  }
  return true;
}

inline grid_point operator+(grid_point a, const grid_point& b) {
  for (int axis = 0; axis < 3; ++axis) a[axis] += b[axis];
  return a;
}

inline grid_point point_of(index_type number, const grid_point& extents) {
  return {number / (extents[1] * extents[2]), number / extents[2] % extents[1], number % extents[2]};
}

inline index_type number_of(const grid_point& point, const grid_point& extents) {
  return (point[0] * extents[1] + point[1]) * extents[2] + point[2];
}

/// Calls visit(number) for every number below count, on the host's threads.
template <class Visit>
void each_on_threads(index_type count, const Visit& visit) {
  constexpr index_type chunk = 1024, chunks_a_thread = 4;
  run_on_threads((count + chunk - 1) / chunk, 0, chunks_a_thread, [&](index_type k) {
    for (index_type number = k * chunk; number < std::min(count, (k + 1) * chunk); ++number) visit(number);
  });
}

template <class T, class Offset, class Block>
csr_matrix<T> assemble_on_grid(const grid_point& extents, int unknowns, std::span<const grid_point> stencil,
                               index_type nonzeros, const Block& block) {
  const index_type points = extents[0] * extents[1] * extents[2];
  std::vector<Offset> row_offsets(points * unknowns + 1);
  each_on_threads(points, [&](index_type number) {
    const grid_point point = point_of(number, extents);
    const auto neighbours =
        std::ranges::count_if(stencil, [&](const grid_point& way) { return is_inside(point + way, extents); });
    std::fill_n(&row_offsets[number * unknowns + 1], unknowns, static_cast<Offset>(neighbours * unknowns));
  });
  std::partial_sum(row_offsets.begin(), row_offsets.end(), row_offsets.begin());

  std::vector<std::int32_t> column_indices(nonzeros);
  std::vector<T> values(nonzeros);
  each_on_threads(points, [&](index_type number) {
    const grid_point point = point_of(number, extents);
    const Offset* const row = &row_offsets[number * unknowns];
    index_type filled = 0;  // entries so far in each of this point's rows
    for (std::size_t s = 0; s < stencil.size(); ++s) {
      if (!is_inside(point + stencil[s], extents)) continue;
      const index_type first_column = number_of(point + stencil[s], extents) * unknowns;
      const std::array<double, 9> entries = block(point, s);
      for (int i = 0; i < unknowns; ++i) {
        for (int j = 0; j < unknowns; ++j) {
          column_indices[row[i] + filled + j] = static_cast<std::int32_t>(first_column + j);
          values[row[i] + filled + j] = static_cast<T>(entries[i * unknowns + j]);
        }
      }
      filled += unknowns;
    }
  });
  const index_type rows = points * unknowns;
  return csr_matrix<T>::adopt(rows, rows, std::move(row_offsets), std::move(column_indices), std::move(values));
}

/// Assembles a matrix that couples each point of a grid with the points inside the grid that a stencil reaches.
///
/// extents: points along each axis. unknowns: 1 to 3 per point, numbered consecutively. stencil: offsets to the
/// neighbours, in ascending order (so that columns come out sorted). block(point, s): the unknowns x unknowns entries,
/// by rows, between the point and its neighbour by stencil[s]; called from several threads. The pattern is known before
/// any value, and each row is written once, by one thread: no triplets, no sorting, the same bits each time.
template <class T, class Block>
csr_matrix<T> assemble_on_grid(const grid_point& extents, int unknowns, std::span<const grid_point> stencil,
                               const Block& block) {
  index_type nonzeros = 0;
  for (const grid_point& way : stencil) {
    index_type pairs = index_type{unknowns} * unknowns;
    for (int axis = 0; axis < 3; ++axis) pairs *= std::max<index_type>(0, extents[axis] - std::abs(way[axis]));
    nonzeros += pairs;
  }
  return nonzeros <= std::numeric_limits<std::int32_t>::max()
             ? assemble_on_grid<T, std::int32_t>(extents, unknowns, stencil, nonzeros, block)
             : assemble_on_grid<T, std::int64_t>(extents, unknowns, stencil, nonzeros, block);
}

}  // namespace whilst::detail
