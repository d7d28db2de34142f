#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "solvers/linear/geometric_multigrid/grid_level.hpp"
#include "whilst/basics/host_device.hpp"

/// Put before a loop of a few turns whose indices choose among registers.
#if defined(__CUDA_ARCH__)
#define WHILST_UNROLLED _Pragma("unroll")
#else
#define WHILST_UNROLLED
#endif

namespace whilst::geometric_multigrid {

/// Division of numbers below 2^31 by the same one again and again: T. Granlund, P. L. Montgomery, "Division by invariant
/// integers using multiplication" (1994), section 4.
struct quick_divisor {
  int divisor, shift;
  std::uint32_t factor;

  explicit quick_divisor(int divisor)
      : divisor(divisor), shift(31 + std::bit_width(static_cast<unsigned>(divisor - 1))) {
    const auto of = static_cast<std::uint64_t>(divisor);
    factor = static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + of - 1) / of);
  }
  WHILST_HD int quotient(int number) const {
    return static_cast<int>((static_cast<std::uint64_t>(number) * factor) >> shift);
  }
};

/// A step whose indices, fewer than 2^31, are places of lines along x, with a thread each.
template <class C>
struct grid_step {
  grid_level<C> grid;
  quick_divisor places, lines_y;

  static constexpr int threads_spread_out = 64;
  static constexpr int blocks_wanted = sizeof(C) == 4 ? 4 : 2;

  grid_step(const grid_level<C>& grid, int places, int lines_y) : grid(grid), places(places), lines_y(lines_y) {}

  struct place {
    int k, y, z, line;
  };
  WHILST_HD place place_of(index_type i) const {
    const int number = static_cast<int>(i), line = places.quotient(number), z = lines_y.quotient(line);
    return {number - line * places.divisor, line - z * lines_y.divisor, z, line};
  }
};

/// What the neighbours of a point add up to, each times its link, from the half vector of the other colour; `others`
/// points to place k of the point's line.
template <class C>
WHILST_HD C sum_of_others(const grid_level<C>& grid, const typename level_operator<C>::of_point& of, const C* others,
                          int x, int y, int z) {
  const int line = grid.half_line(), plane = line * grid.points[1];
  const bool odd = x & 1;
  const C near = others[0];  // x + 1 for even x, x - 1 for odd x
  const C far = (odd ? x < grid.last(0) : x > 0) ? others[odd ? 1 : -1] : C(0);
  const C before_y = y > 0 ? others[-line] : C(0), after_y = y < grid.last(1) ? others[line] : C(0);
  const C before_z = z > 0 ? others[-plane] : C(0), after_z = z < grid.last(2) ? others[plane] : C(0);
  return of.link[0] * (near + far) + of.link[1] * (before_y + after_y) + of.link[2] * (before_z + after_z);
}

/// The first sweep from u = 0: red points have b / diagonal, which nobody stores, and the black ones follow from them.
template <class C, class B>
struct first_sweep : grid_step<C> {
  const B* b;
  C* black;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [k, y, z, line] = this->place_of(i);
    const int x = 2 * k + 1 - grid.first_of_line(y, z);
    if (x > grid.last(0)) {
      black[i] = 0;
      return;
    }
    const B* const own = b + (index_type{line} * grid.points[0] + x);
    const index_type plane = index_type{grid.points[1]} * grid.points[0];
    const int kind = grid.kind(x, y, z);
    const auto red = [&](int d, int at, index_type stride) {
      const int inner = kind & ~(1 << d);
      const C before = at > 0 ? static_cast<C>(own[-stride]) : C(0);
      const C after = at < grid.last(d) ? static_cast<C>(own[stride]) : C(0);
      return before * grid.of->at[inner].inverse_diagonal +
             after * grid.of->at[inner | int{at + 1 == grid.last(d)} << d].inverse_diagonal;
    };
    const auto& of = grid.of->at[kind];
    const C of_red =
        of.link[0] * red(0, x, 1) + of.link[1] * red(1, y, grid.points[0]) + of.link[2] * red(2, z, plane);
    black[i] = (static_cast<C>(*own) + of_red) * of.inverse_diagonal;
  }
  index_type bytes(index_type) const {
    return this->grid.size() * static_cast<index_type>(sizeof(B)) +
           this->grid.half_size() * static_cast<index_type>(sizeof(C));
  }
};

/// Half a sweep: the points of one colour from those of the other.
template <class C, class B>
struct relax_colour : grid_step<C> {
  int colour;  ///< 0: red
  const B* b;
  const C* others;
  C* own;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [k, y, z, line] = this->place_of(i);
    const int x = 2 * k + (grid.first_of_line(y, z) ^ colour);
    if (x > grid.last(0)) {
      own[i] = 0;
      return;
    }
    const auto& of = grid.of->at[grid.kind(x, y, z)];
    const C right = static_cast<C>(b[index_type{line} * grid.points[0] + x]);
    own[i] = (right + sum_of_others(grid, of, others + i, x, y, z)) * of.inverse_diagonal;
  }
  index_type bytes(index_type) const {
    return this->grid.size() * static_cast<index_type>(sizeof(B)) +
           2 * this->grid.half_size() * static_cast<index_type>(sizeof(C));
  }
};

/// The last half sweep, of the red points; and all of u is put where it belongs.
template <class C, class B, class Put>
struct finish_sweep : grid_step<C> {
  const B* b;
  const C* black;
  Put put;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [k, y, z, line] = this->place_of(i);
    const int first = grid.first_of_line(y, z), x = 2 * k + first;
    const index_type at = index_type{line} * grid.points[0] + 2 * k;
    if (x <= grid.last(0)) {
      const auto& of = grid.of->at[grid.kind(x, y, z)];
      const C right = static_cast<C>(b[at + first]);
      put(at + first, (right + sum_of_others(grid, of, black + i, x, y, z)) * of.inverse_diagonal);
    }
    if (2 * k + 1 - first <= grid.last(0)) put(at + 1 - first, black[i]);
  }
  index_type bytes(index_type) const {
    return put.bytes(this->grid.size()) + this->grid.size() * static_cast<index_type>(sizeof(B)) +
           this->grid.half_size() * static_cast<index_type>(sizeof(C));
  }
};

/// So that what has no weight, and perhaps does not exist, needs no branch.
WHILST_HD inline int into_range(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/// Adds up entries of lines along x, `near` of them each, times what joins them with a point; see grid_level::shares.
template <class C, int near>
struct joined_points {
  using shares = typename grid_level<C>::template shares<near>;
  C axis[3];
  shares of_y, of_z;

  /// What line (b, c) of `near` times `near` adds: entry(t) is its t-th of three, and of_x are their shares.
  template <class Entry>
  WHILST_HD C line(int b, int c, const typename grid_level<C>::template shares<3>& of_x, const Entry& entry) const {
    const C v[3] = {entry(0), entry(1), entry(2)};
    const C own = of_x.own[0] * v[0] + of_x.own[1] * v[1] + of_x.own[2] * v[2];
    const C weight = axis[1] * of_y.of_neighbours[b] * of_z.own[c] + axis[2] * of_y.own[b] * of_z.of_neighbours[c];
    if (is_outer(b) || is_outer(c)) return weight * own;
    const C beside = of_x.of_neighbours[0] * v[0] + of_x.of_neighbours[1] * v[1] + of_x.of_neighbours[2] * v[2];
    return weight * own + axis[0] * of_y.own[b] * of_z.own[c] * beside;
  }
  /// Where no point has a share of its own.
  WHILST_HD static constexpr bool is_outer(int b) { return near == 5 && (b == 0 || b == near - 1); }
};

/// b_coarse = P'(b - A u) after a sweep. Black points have no residual; that of the red ones is what the last sweep has
/// changed in their black neighbours, since it followed from these as they were before: b_coarse = P'K (black -
/// before). `before` is null for 0.
template <class C>
struct restrict_residual : grid_step<C> {
  const C *black, *before;
  C* coarse;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [X, Y, Z, line] = this->place_of(i);
    const int x = grid.fine(0, X), y = grid.fine(1, Y), z = grid.fine(2, Z);
    const auto* const link = grid.of->at[0].link;
    const joined_points<C, 5> joined{
        {link[0], link[1], link[2]}, grid.shares_in_fine(1, Y), grid.shares_in_fine(2, Z)};
    // A line has black points at x - 2, x, x + 2, or else at x - 1, x + 1.
    const auto along = grid.shares_in_fine(0, X);
    const bool centre_is_black = (x & 1) != grid.first_of_line(y, z);
    int at[2][3];
    typename grid_level<C>::template shares<3> of_x[2];
    WHILST_UNROLLED
    for (int odd = 0; odd < 2; ++odd) {
      const bool has_centre = centre_is_black != (odd == 1);
      WHILST_UNROLLED
      for (int t = 0; t < 3; ++t) {
        at[odd][t] = into_range((has_centre ? x + 2 * t - 2 : t < 2 ? x + 2 * t - 1 : x) >> 1, grid.half_line());
        of_x[odd].own[t] = has_centre ? along.own[2 * t] : t < 2 ? along.own[2 * t + 1] : C(0);
        of_x[odd].of_neighbours[t] =
            has_centre ? along.of_neighbours[2 * t] : t < 2 ? along.of_neighbours[2 * t + 1] : C(0);
      }
    }
    C sum = 0;
    WHILST_UNROLLED
    for (int c = 0; c < 5; ++c) {
      if (c != 2 && grid.points[2] == 1) continue;
      const int plane = into_range(z + c - 2, grid.points[2]) * grid.points[1];
      WHILST_UNROLLED
      for (int b = 0; b < 5; ++b) {
        if (joined.is_outer(b) && joined.is_outer(c)) continue;
        const int from = (plane + into_range(y + b - 2, grid.points[1])) * grid.half_line(), odd = (b + c) & 1;
        sum += joined.line(b, c, of_x[odd], [&](int t) {
          const int place = from + at[odd][t];
          return before ? black[place] - before[place] : black[place];
        });
      }
    }
    coarse[i] = sum;
  }
  index_type bytes(index_type) const {
    return ((before ? 2 : 1) * this->grid.half_size() + this->grid.coarse_size()) * static_cast<index_type>(sizeof(C));
  }
};

/// u += P e, and half a sweep of the black points: these change by D^-1 K'P e. Red points follow from them later, so
/// what P e adds to these is not stored.
template <class C>
struct correct_black : grid_step<C> {
  const C* e;
  C* black;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [k, y, z, line] = this->place_of(i);
    const int x = 2 * k + 1 - grid.first_of_line(y, z);
    if (x > grid.last(0)) return;
    const C old = black[i];
    const auto& of = grid.of->at[grid.kind(x, y, z)];
    const auto* const link = grid.of->at[0].link;
    const joined_points<C, 3> joined{
        {link[0], link[1], link[2]}, grid.shares_of_coarse(1, y), grid.shares_of_coarse(2, z)};
    const auto of_x = grid.shares_of_coarse(0, x);
    const int X = grid.coarse(0, x), Y = grid.coarse(1, y), Z = grid.coarse(2, z);
    const int* const n = grid.coarse_points;
    const int at[3] = {into_range(X - 1, n[0]), into_range(X, n[0]), into_range(X + 1, n[0])};
    C sum = 0;
    WHILST_UNROLLED
    for (int c = 0; c < 3; ++c) {
      if (c != 1 && grid.points[2] == 1) continue;
      const int plane = into_range(Z + c - 1, n[2]) * n[1];
      WHILST_UNROLLED
      for (int b = 0; b < 3; ++b) {
        const int from = (plane + into_range(Y + b - 1, n[1])) * n[0];
        sum += joined.line(b, c, of_x, [&](int t) { return e[from + at[t]]; });
      }
    }
    black[i] = old + sum * of.inverse_diagonal;
  }
  index_type bytes(index_type) const {
    return (2 * this->grid.half_size() + this->grid.coarse_size()) * static_cast<index_type>(sizeof(C));
  }
};

/// t = b - A u
template <class C>
struct residual_on_grid : grid_step<C> {
  const C *b, *u;
  C* t;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [x, y, z, line] = this->place_of(i);
    const auto neighbours = [&](int d, int at, index_type stride) {
      return (at > 0 ? u[i - stride] : C(0)) + (at < grid.last(d) ? u[i + stride] : C(0));
    };
    const int kind = grid.kind(x, y, z);
    const C* const link = grid.of->at[kind].link;
    t[i] = b[i] - grid.of->diagonal[kind] * u[i] + link[0] * neighbours(0, x, 1) +
           link[1] * neighbours(1, y, grid.points[0]) + link[2] * neighbours(2, z, grid.index(0, 0, 1));
  }
  index_type bytes(index_type) const { return 3 * this->grid.size() * static_cast<index_type>(sizeof(C)); }
};

}  // namespace whilst::geometric_multigrid

#undef WHILST_UNROLLED
