#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst::geometric_multigrid {

/// Coefficients of a level's operator: of its links along each axis, and what the diagonal has beyond their sum. Links
/// to the boundary count, too.
template <class C>
struct stencil {
  C axis[3], shift;
};

/// A grid of interior points, x running fastest, and the operator on it
///
///   sum over the axes of axis[d] (-d^2 u / dx_d^2) + shift u,   u = 0 on the boundary,
///
/// as finite volumes make it, in units of the mesh width. The first points are a mesh width away from the boundary, the
/// last ones last_width[d], so that coarser grids may have points of any finer one: those with odd numbers, from 0. A
/// cell reaches halfway to the neighbours; `cell` and `degree` are its width and the sum of reciprocal distances.
///
/// P, the interpolation from the next coarser grid, is linear along each axis and 0 on the boundary. Axes whose links
/// are weak are left as they are.
template <class C>
struct grid_level {
  int points[3];
  C last_width[3];
  const stencil<C>* of;
  int coarse_points[3];  ///< as many as there are on an axis that is left as it is
  bool coarsens[3];
  int first_red;  ///< parity of x + y + z at red points, which smoothing begins with

  WHILST_HD index_type lines() const { return index_type{points[1]} * points[2]; }
  WHILST_HD index_type size() const { return lines() * points[0]; }
  WHILST_HD index_type index(int x, int y, int z) const { return (index_type{z} * points[1] + y) * points[0] + x; }
  WHILST_HD index_type coarse_index(int x, int y, int z) const {
    return (index_type{z} * coarse_points[1] + y) * coarse_points[0] + x;
  }
  index_type coarse_size() const { return coarse_index(0, 0, coarse_points[2]); }

  /// Half a vector: the points of one colour, of each line in order. Points 2 k and 2 k + 1 are at place k.
  WHILST_HD int half_line() const { return (points[0] + 1) / 2; }
  WHILST_HD index_type half_index(int x, int y, int z) const {
    return (index_type{z} * points[1] + y) * half_line() + x / 2;
  }
  index_type half_size() const { return lines() * half_line(); }
  /// x of place 0 in that line, for the red points; that of the others is 1 - first_of_line.
  WHILST_HD int first_of_line(int y, int z) const { return (y + z + first_red) & 1; }

  /// Whether the point is none of the last ones of an axis: its cell, links and diagonal are those of most.
  WHILST_HD bool is_regular(int x, int y, int z) const {
    return x < points[0] - 1 && y < points[1] - 1 && z < points[2] - 1;
  }
  WHILST_HD C cell(int d, int i) const { return i == points[d] - 1 ? (1 + last_width[d]) / 2 : C(1); }
  WHILST_HD C degree(int d, int i) const { return i == points[d] - 1 ? 1 + 1 / last_width[d] : C(2); }
  WHILST_HD C diagonal(int x, int y, int z) const {
    if (is_regular(x, y, z)) return 2 * (of->axis[0] + of->axis[1] + of->axis[2]) + of->shift;
    const C cx = cell(0, x), cy = cell(1, y), cz = cell(2, z);
    return of->axis[0] * degree(0, x) * cy * cz + of->axis[1] * degree(1, y) * cx * cz +
           of->axis[2] * degree(2, z) * cx * cy + of->shift * cx * cy * cz;
  }
  /// What a link along axis d weighs, if it is between points whose other two coordinates are these.
  WHILST_HD C link(int d, int x, int y, int z) const {
    return of->axis[d] * (d == 0 ? C(1) : cell(0, x)) * (d == 1 ? C(1) : cell(1, y)) * (d == 2 ? C(1) : cell(2, z));
  }
  /// What neighbours add up to, each times its link: diagonal u - neighbours is the operator. value(x, y, z): of u.
  template <class Value>
  WHILST_HD C neighbours(int x, int y, int z, const Value& value) const {
    C along_x = 0, along_y = 0, along_z = 0;
    if (x > 0) along_x += value(x - 1, y, z);
    if (x < points[0] - 1) along_x += value(x + 1, y, z);
    if (y > 0) along_y += value(x, y - 1, z);
    if (y < points[1] - 1) along_y += value(x, y + 1, z);
    if (z > 0) along_z += value(x, y, z - 1);
    if (z < points[2] - 1) along_z += value(x, y, z + 1);
    if (is_regular(x, y, z)) return of->axis[0] * along_x + of->axis[1] * along_y + of->axis[2] * along_z;
    return link(0, x, y, z) * along_x + link(1, x, y, z) * along_y + link(2, x, y, z) * along_z;
  }

  /// The share of point j of the coarse axis in point i of this one: P is the product of three. Both may lie outside.
  WHILST_HD C share(int d, int i, int j) const {
    if (i < 0 || i >= points[d] || j < 0 || j >= coarse_points[d]) return 0;
    if (!coarsens[d]) return C(i == j);
    const int distance = i - (2 * j + 1);
    if (distance == 0) return 1;
    if (distance != 1 && distance != -1) return 0;
    return i == points[d] - 1 ? last_width[d] / (1 + last_width[d]) : C(0.5);
  }
  /// That share, and those in the two neighbours of i together.
  struct shares {
    C own, of_neighbours;
  };
  WHILST_HD shares shares_of(int d, int i, int j) const {
    if (i < 0 || i >= points[d]) return {0, 0};
    if (!coarsens[d] || i < 2 || i > points[d] - 3) return {share(d, i, j), share(d, i - 1, j) + share(d, i + 1, j)};
    const int from = i - (2 * j + 1), distance = from < 0 ? -from : from;  // far from the boundary
    return {distance == 0 ? C(1) : distance == 1 ? C(0.5) : C(0), distance <= 1 ? C(1) : distance == 2 ? C(0.5) : C(0)};
  }
  /// Those along x, a point's own times its cell, as links across x are.
  WHILST_HD shares shares_of_cell(int x, int X) const {
    const shares of = shares_of(0, x, X);
    return {of.own * cell(0, x), of.of_neighbours};
  }
  /// So many coarse points from first_coarse on have shares in point i or its neighbours, and so many points from
  /// first_fine on, or their neighbours, have shares of point j of the coarse axis; some may lie outside.
  static constexpr int near_coarse = 3, near_fine = 5;
  WHILST_HD int first_coarse(int d, int i) const { return (coarsens[d] ? i / 2 : i) - 1; }
  WHILST_HD int first_fine(int d, int j) const { return coarsens[d] ? 2 * j - 1 : j - 1; }
};

/// The next coarser grid: as many points as have odd numbers.
template <class C>
grid_level<C> coarser(const grid_level<C>& fine) {
  grid_level<C> coarse = fine;
  for (int d = 0; d < 3; ++d) {
    if (!fine.coarsens[d]) continue;
    coarse.points[d] = fine.coarse_points[d];
    coarse.last_width[d] = (fine.last_width[d] + static_cast<C>(fine.points[d] % 2)) / 2;
  }
  return coarse;
}
/// The same operator in units of that grid: a link is a face's area over a distance.
template <class C, class V>
stencil<V> coarser(const grid_level<C>& fine, const stencil<V>& of) {
  stencil<V> coarse = of;
  for (int d = 0; d < 3; ++d) {
    if (!fine.coarsens[d]) continue;
    for (int e = 0; e < 3; ++e) coarse.axis[e] *= e == d ? V(0.5) : V(2);
    coarse.shift *= 2;
  }
  return coarse;
}

}  // namespace whilst::geometric_multigrid
