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

/// Division by a number that is known before: by a multiplication.
struct divider {
  unsigned factor = 0, shift = 0;

  divider() = default;
  explicit divider(unsigned by) {
    unsigned bits = 0;
    while ((std::uint64_t{1} << bits) < by) ++bits;
    factor = static_cast<unsigned>(((std::uint64_t{1} << (31 + bits)) + by - 1) / by);
    shift = bits - 1;
  }
  /// Of a number below 2^31 by one above 1.
  WHILST_HD int quotient(int of) const {
    return static_cast<int>(static_cast<std::uint64_t>(static_cast<unsigned>(of)) * factor >> 32 >> shift);
  }
};

/// The 7-point Laplacian on a box of interior points, split into slabs of whole planes, of which each rank has one;
/// unscaled, 6 on the diagonal. Point (i, j, k) of a rank's planes is row (k edge + j) edge + i. x has the own entries
/// first, then the plane below the slab, then that above it, as far as there are any.
template <class T>
struct slab_operator {
  int edge, plane, planes;
  bool has_below, has_above;
  divider by_edge, by_plane;

  slab_operator(index_type edge, index_type planes)
      : edge(static_cast<int>(edge)),
        plane(static_cast<int>(edge * edge)),
        planes(static_cast<int>(planes)),
        has_below(false),
        has_above(false),
        by_edge(static_cast<unsigned>(edge)),
        by_plane(static_cast<unsigned>(edge * edge)) {}
  WHILST_HD index_type rows() const { return static_cast<index_type>(plane) * planes; }
  WHILST_HD int lanes_wanted() const { return 1; }
  index_type bytes() const { return 0; }
  template <class X, class Team>
  WHILST_HD T row(index_type i, const X& x, const Team&) const {
    const int row = static_cast<int>(i);
    const int k = by_plane.quotient(row), in_plane = row - k * plane, j = by_edge.quotient(in_plane);
    const int column = in_plane - j * edge;
    const int ghosts = plane * planes;
    const int below = k > 0 ? row - plane : has_below ? ghosts + in_plane : -1;
    const int above = k < planes - 1 ? row + plane : has_above ? ghosts + (has_below ? plane : 0) + in_plane : -1;
    // All reads first, without a branch that waits for some before it goes on to others.
    const T own = x.own(row);
    const T west = column > 0 ? x.own(row - 1) : T(0), east = column < edge - 1 ? x.own(row + 1) : T(0);
    const T south = j > 0 ? x.own(row - edge) : T(0), north = j < edge - 1 ? x.own(row + edge) : T(0);
    const T down = x.or_zero(below), up = x.or_zero(above);
    return 6 * own - west - east - south - north - down - up;
  }
  WHILST_HD T diagonal(index_type) const { return 6; }
};

/// The planes of each rank.
inline whilst::row_partition slabs(const box& points, int ranks) {
  std::vector<index_type> first;
  for (int q = 0; q <= ranks; ++q) first.push_back(points.planes * q / ranks * points.plane());
  return whilst::row_partition(first);
}

/// A rank's part of the operator, and what it reads of others. Collective.
template <class T>
struct slab {
  slab_operator<T> rows;
  whilst::halo_plan halo;

  slab(const whilst::group& ranks, const box& points) : rows(points.edge, 0) {
    const whilst::row_partition partition = slabs(points, ranks.size());
    const index_type first = partition.first(ranks.rank()), count = partition.rows_of(ranks.rank()),
                     plane = points.plane();
    rows.planes = static_cast<int>(count / plane);
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
whilst::distributed_csr_matrix<T> slab_matrix(const whilst::group& ranks, const box& points) {
  const whilst::row_partition partition = slabs(points, ranks.size());
  const index_type first = partition.first(ranks.rank()), count = partition.rows_of(ranks.rank()), edge = points.edge,
                   plane = points.plane();
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
    add(k < points.planes - 1, row + plane, -1);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return {ranks, first, offsets, columns, std::span<const T>(values)};
}

}  // namespace scaling
