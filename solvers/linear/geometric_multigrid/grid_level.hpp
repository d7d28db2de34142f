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

/// The operator at the points of a level, by which axes they are the last ones of, a bit each: grid_level::kind.
template <class C>
struct level_operator {
  struct alignas(16) of_point {
    C link[3];  ///< along each axis
    C inverse_diagonal;
  };
  of_point at[8];
  C diagonal[8];
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
  const level_operator<C>* of;
  int coarse_points[3];  ///< as many as there are on an axis that is left as it is
  bool coarsens[3];
  bool coarsens_all;  ///< all axes of more than one point
  C last_share[3];    ///< of the last coarse point in a last point beyond it; 0 on an axis that is left as it is
  int first_red;      ///< parity of x + y + z at red points, which smoothing begins with

  WHILST_HD index_type lines() const { return index_type{points[1]} * points[2]; }
  WHILST_HD index_type size() const { return lines() * points[0]; }
  WHILST_HD index_type index(int x, int y, int z) const { return (index_type{z} * points[1] + y) * points[0] + x; }
  index_type coarse_size() const { return index_type{coarse_points[0]} * coarse_points[1] * coarse_points[2]; }

  /// Half a vector: the points of one colour, of each line in order. Points 2 k and 2 k + 1 are at place k; where there
  /// is no such point of the colour, 0 is.
  WHILST_HD int half_line() const { return points[0] / 2 + points[0] % 2; }
  index_type half_size() const { return lines() * half_line(); }
  /// x of place 0 in that line, for the red points; that of the others is 1 - first_of_line.
  WHILST_HD int first_of_line(int y, int z) const { return (y + z + first_red) & 1; }

  WHILST_HD int last(int d) const { return points[d] - 1; }
  WHILST_HD int kind(int x, int y, int z) const {
    return int{x == last(0)} | int{y == last(1)} << 1 | int{z == last(2)} << 2;
  }
  WHILST_HD C cell(int d, int i) const { return i == last(d) ? (1 + last_width[d]) / 2 : C(1); }

  /// What joins points of this axis with points of the coarse one: shares of a coarse point, each times the cell, and
  /// those in the two neighbours together. P is the product of three axes' shares, so K'P, with K for the links between
  /// the colours, is a sum of such products.
  template <int near>
  struct shares {
    C own[near], of_neighbours[near];

    /// What joins neighbours by links of that weight.
    WHILST_HD shares linked(C link) const {
      shares with = *this;
      WHILST_UNROLLED
      for (C& share : with.of_neighbours) share *= link;
      return with;
    }
  };
  /// The share of point j of a coarsened axis in the point after its own.
  WHILST_HD C share_after(int d, int own) const {
    const C share = coarsens[d] ? C(0.5) : C(0);
    return own + 1 < last(d) ? share : own + 1 == last(d) ? last_share[d] : C(0);
  }
  /// The point of this axis where point j of the coarse one is.
  WHILST_HD int fine(int d, int j) const { return coarsens[d] ? 2 * j + 1 : j; }
  /// Of point j of the coarse axis in points fine(d, j) - 2 to + 2; 0 in those that lie outside.
  WHILST_HD shares<5> shares_in_fine(int d, int j) const {
    const int i = fine(d, j);
    const C before = coarsens[d] ? C(0.5) : C(0), after = share_after(d, i);
    return {{0, before, cell(d, i), after * cell(d, i + 1), 0},
            {i > 1 ? before : 0, C(i > 0), before + after, C(i < last(d)), i + 1 < last(d) ? after : 0}};
  }
  /// The point of the coarse axis at point i, or the next one.
  WHILST_HD int coarse(int d, int i) const { return coarsens[d] ? i / 2 : i; }
  WHILST_HD bool is_between(int d, int i) const { return coarsens[d] && i % 2 == 0; }
  /// Of points coarse(d, i) - 1 to + 1 in point i; 0 for those that lie outside. `between`: is_between(d, i).
  WHILST_HD shares<3> shares_of_coarse(int d, int i, bool between) const {
    const int j = coarse(d, i);
    const C share = coarsens[d] ? C(0.5) : C(1), own = coarsens[d] ? C(0.5) + share_after(d, i) : C(0);
    const C of_before = j > 0 ? share : C(0), of_after = j + 1 < coarse_points[d] ? share : C(0);
    if (!between) return {{0, cell(d, i), 0}, {of_before, own, of_after}};
    const C last_own = i == last(d) ? last_width[d] / 2 : C(0.5);
    return {{j > 0 ? last_own : C(0), j < coarse_points[d] ? C(0.5) : C(0), 0}, {C(j > 0), C(j < coarse_points[d]), 0}};
  }
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
