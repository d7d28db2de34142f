#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/scaling/timing.hpp"
#include "whilst/basics/host_device.hpp"
#include "whilst/group/group.hpp"
#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"
#include "whilst/linear/distributed/row_partition.hpp"

namespace scaling {

/// The 7-point Laplacian on a cube of interior points, split into slabs of whole planes, of which each rank has one;
/// unscaled, 6 on the diagonal. Point (i, j, k) of a rank's planes is row (k edge + j) edge + i. x has the own entries
/// first, then the plane below the slab, then that above it, as far as there are any.
template <class T>
struct slab_operator {
  index_type edge, planes;
  bool has_below, has_above;

  WHILST_HD index_type rows() const { return edge * edge * planes; }
  WHILST_HD int lanes_wanted() const { return 1; }
  index_type bytes() const { return 0; }
  template <class X, class Team>
  WHILST_HD T row(index_type i, const X& x, const Team&) const {
    const int n = static_cast<int>(edge), row = static_cast<int>(i), plane = n * n;
    const int k = row / plane, in_plane = row - k * plane, j = in_plane / n, column = in_plane - j * n;
    T sum = 6 * x[i];
    if (column > 0) sum -= x[i - 1];
    if (column < n - 1) sum -= x[i + 1];
    if (j > 0) sum -= x[i - n];
    if (j < n - 1) sum -= x[i + n];
    if (k > 0) {
      sum -= x[i - plane];
    } else if (has_below) {
      sum -= x[rows() + in_plane];
    }
    if (k < planes - 1) {
      sum -= x[i + plane];
    } else if (has_above) {
      sum -= x[rows() + (has_below ? plane : 0) + in_plane];
    }
    return sum;
  }
  WHILST_HD T diagonal(index_type) const { return 6; }
};

/// The planes of each rank.
inline whilst::row_partition slabs(index_type edge, int ranks) {
  std::vector<index_type> first;
  for (int q = 0; q <= ranks; ++q) first.push_back(edge * q / ranks * edge * edge);
  return whilst::row_partition(first);
}

/// A rank's part of the operator, and what it reads of others. Collective.
template <class T>
struct slab {
  slab_operator<T> rows;
  whilst::halo_plan halo;

  slab(const whilst::group& ranks, index_type edge) : rows{edge, 0, false, false} {
    const whilst::row_partition partition = slabs(edge, ranks.size());
    const index_type first = partition.first(ranks.rank()), count = partition.rows_of(ranks.rank()),
                     plane = edge * edge;
    rows.planes = count / plane;
    std::vector<index_type> ghosts;
    if (rows.planes > 0) {
      rows.has_below = first > 0;
      rows.has_above = first + count < partition.rows();
      for (index_type i = 0; rows.has_below && i < plane; ++i) ghosts.push_back(first - plane + i);
      for (index_type i = 0; rows.has_above && i < plane; ++i) ghosts.push_back(first + count + i);
    }
    halo = whilst::make_halo_plan(ranks, partition, std::move(ghosts));
  }
};

/// The same as a matrix. Collective.
template <class T>
whilst::distributed_csr_matrix<T> slab_matrix(const whilst::group& ranks, index_type edge) {
  const whilst::row_partition partition = slabs(edge, ranks.size());
  const index_type first = partition.first(ranks.rank()), count = partition.rows_of(ranks.rank()), plane = edge * edge;
  std::vector<std::int64_t> offsets{0}, columns;
  std::vector<T> values;
  columns.reserve(static_cast<std::size_t>(7 * count));
  values.reserve(static_cast<std::size_t>(7 * count));
  for (index_type row = first; row < first + count; ++row) {
    const index_type i = row % edge, j = row / edge % edge, k = row / plane;
    const auto add = [&](bool is_there, index_type column, T value) {
      if (!is_there) return;
      columns.push_back(column);
      values.push_back(value);
    };
    add(k > 0, row - plane, -1);
    add(j > 0, row - edge, -1);
    add(i > 0, row - 1, -1);
    add(true, row, 6);
    add(i < edge - 1, row + 1, -1);
    add(j < edge - 1, row + edge, -1);
    add(k < edge - 1, row + plane, -1);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return {ranks, first, offsets, columns, std::span<const T>(values)};
}

}  // namespace scaling
