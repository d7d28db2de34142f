#pragma once

#include <bit>
#include <cstdint>

#include "solvers/linear/geometric_multigrid/grid_level.hpp"
#include "whilst/basics/host_device.hpp"

namespace whilst::geometric_multigrid {

/// Division of numbers below 2^31 by the same one again and again: T. Granlund, P. L. Montgomery, "Division by
/// invariant integers using multiplication" (1994), section 4.
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
    const C of_red = of.link[0] * red(0, x, 1) + of.link[1] * red(1, y, grid.points[0]) + of.link[2] * red(2, z, plane);
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

/// What joins entries of a line along x with a point, if the line's shares along the other axes are these, linked:
/// factors of the entries' own shares along x and of those in their neighbours.
template <class C>
struct joined_line {
  C of_own, of_neighbours;

  template <class Shares>
  WHILST_HD joined_line(const Shares& of_y, int b, const Shares& of_z, int c)
      : of_own(of_y.of_neighbours[b] * of_z.own[c] + of_y.own[b] * of_z.of_neighbours[c]),
        of_neighbours(of_y.own[b] * of_z.own[c]) {}
};

/// b_coarse = P'(b - A u) after a sweep. Black points have no residual; that of the red ones is what the last sweep has
/// changed in their black neighbours, since it followed from these as they were before: b_coarse = P'K (black -
/// before). `before` is null for 0. `all`: the grid's coarsens_all, and so points of the coarse one are red.
template <class C, bool all>
struct restrict_residual : grid_step<C> {
  const C *black, *before;
  C* coarse;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [X, Y, Z, line] = this->place_of(i);
    const int x = grid.fine(0, X), y = grid.fine(1, Y), z = grid.fine(2, Z);
    const C* const link = grid.of->at[0].link;
    const auto of_x = grid.shares_in_fine(0, X).linked(link[0]);
    const auto of_y = grid.shares_in_fine(1, Y).linked(link[1]), of_z = grid.shares_in_fine(2, Z).linked(link[2]);
    // Lines have black points at x - 2, x, x + 2, or else at x - 1, x + 1: by turns.
    const bool centre_is_black = !all && (x & 1) != grid.first_of_line(y, z);
    int at[2][3];
    C own[2][3], of_neighbours[2][3];
    WHILST_UNROLLED
    for (int turn = 0; turn < 2; ++turn) {
      const bool has_centre = centre_is_black != (turn == 1);
      WHILST_UNROLLED
      for (int t = 0; t < 3; ++t) {
        const int shifted = t < 2 ? 2 * t + 1 : 2;  // the third of two has no weight
        at[turn][t] = into_range((x - 2 + (has_centre ? 2 * t : shifted)) >> 1, grid.half_line());
        own[turn][t] = has_centre ? of_x.own[2 * t] : t < 2 ? of_x.own[shifted] : C(0);
        of_neighbours[turn][t] = has_centre ? of_x.of_neighbours[2 * t] : t < 2 ? of_x.of_neighbours[shifted] : C(0);
      }
    }
    C sum = 0;
    WHILST_UNROLLED
    for (int c = 0; c < 5; ++c) {
      if (c != 2 && grid.points[2] == 1) continue;
      const int plane = into_range(z + c - 2, grid.points[2]) * grid.points[1];
      WHILST_UNROLLED
      for (int b = 0; b < 5; ++b) {
        const bool is_outer = b % 4 == 0 || c % 4 == 0;  // without shares of their own along y or z
        if (b % 4 == 0 && c % 4 == 0) continue;
        const int turn = (b + c) % 2, from = (plane + into_range(y + b - 2, grid.points[1])) * grid.half_line();
        const joined_line<C> joined(of_y, b, of_z, c);
        C of_own = 0, of_beside = 0;
        WHILST_UNROLLED
        for (int t = 0; t < 3; ++t) {
          if (all && (turn == 0 ? t == 2 : is_outer && t != 1)) continue;
          const int place = from + at[turn][t];
          const C change = before ? black[place] - before[place] : black[place];
          of_own += own[turn][t] * change;
          if (!is_outer) of_beside += of_neighbours[turn][t] * change;
        }
        sum += joined.of_own * of_own;
        if (!is_outer) sum += joined.of_neighbours * of_beside;
      }
    }
    coarse[i] = sum;
  }
  index_type bytes(index_type) const {
    return ((before ? 2 : 1) * this->grid.half_size() + this->grid.coarse_size()) * static_cast<index_type>(sizeof(C));
  }
};

/// u += P e, and half a sweep of the black points: these change by D^-1 K'P e. Red points follow from them later, so
/// what P e adds to these is not stored. `all`: the grid's coarsens_all; black points then lie between coarse ones
/// along one axis or along three.
template <class C, bool all>
struct correct_black : grid_step<C> {
  const C* e;
  C* black;

  WHILST_HD void operator()(index_type i) const {
    const grid_level<C>& grid = this->grid;
    const auto [k, y, z, line] = this->place_of(i);
    const int x = 2 * k + 1 - grid.first_of_line(y, z);
    if (x > grid.last(0)) return;
    const C old = black[i], inverse_diagonal = grid.of->at[grid.kind(x, y, z)].inverse_diagonal;
    const bool between_x = grid.is_between(0, x), between_y = grid.is_between(1, y), between_z = grid.is_between(2, z);
    const auto along_x = [&grid, x](bool between) { return coarse_axis(grid, 0, x, 1, between); };
    const auto along_y = [&grid, y = y](bool between) {
      return coarse_axis(grid, 1, y, grid.coarse_points[0], between);
    };
    const auto along_z = [&grid, z = z](bool between) {
      return coarse_axis(grid, 2, z, grid.coarse_points[0] * grid.coarse_points[1], between);
    };
    C sum;
    if constexpr (!all) {
      sum = product<3>(along_x(between_x), along_y(between_y), along_z(between_z));
    } else if (between_x && between_y && between_z) {
      sum = product<2>(along_x(true), along_y(true), along_z(true));
    } else if (between_x) {
      sum = between_two(along_x(true), along_y(false), along_z(false));
    } else if (between_y) {
      sum = between_two(along_y(true), along_x(false), along_z(false));
    } else {
      sum = between_two(along_z(true), along_x(false), along_y(false));
    }
    black[i] = old + sum * inverse_diagonal;
  }
  index_type bytes(index_type) const {
    return (2 * this->grid.half_size() + this->grid.coarse_size()) * static_cast<index_type>(sizeof(C));
  }

 private:
  /// The coarse points near a point along an axis.
  struct coarse_axis : grid_level<C>::template shares<3> {
    int at[3];

    WHILST_HD coarse_axis(const grid_level<C>& grid, int d, int i, int stride, bool between)
        : grid_level<C>::template shares<3>(grid.shares_of_coarse(d, i, between).linked(grid.of->at[0].link[d])) {
      const int j = grid.coarse(d, i) - 1;
      WHILST_UNROLLED
      for (int t = 0; t < 3; ++t) at[t] = into_range(j + t, grid.coarse_points[d]) * stride;
    }
  };
  /// By the first `near` of them along each axis.
  template <int near>
  WHILST_HD C product(const coarse_axis& x, const coarse_axis& y, const coarse_axis& z) const {
    C sum = 0;
    WHILST_UNROLLED
    for (int c = 0; c < near; ++c) {
      WHILST_UNROLLED
      for (int b = 0; b < near; ++b) {
        const int from = z.at[c] + y.at[b];
        const joined_line<C> joined(y, b, z, c);
        WHILST_UNROLLED
        for (int t = 0; t < near; ++t)
          sum += (joined.of_own * x.own[t] + joined.of_neighbours * x.of_neighbours[t]) * e[from + x.at[t]];
      }
    }
    return sum;
  }
  /// Of a point between coarse ones along the first axis alone: by the middle ones along the others, and beside these.
  WHILST_HD C between_two(const coarse_axis& two, const coarse_axis& v, const coarse_axis& w) const {
    const joined_line<C> middle(v, 1, w, 1);
    const C beside_v[2] = {w.own[1] * v.of_neighbours[0], w.own[1] * v.of_neighbours[2]};
    const C beside_w[2] = {v.own[1] * w.of_neighbours[0], v.own[1] * w.of_neighbours[2]};
    C sum = 0;
    WHILST_UNROLLED
    for (int t = 0; t < 2; ++t) {
      const int of_v = two.at[t] + w.at[1], of_w = two.at[t] + v.at[1];
      const C e_middle = e[of_v + v.at[1]];
      sum +=
          two.of_neighbours[t] * middle.of_neighbours * e_middle +
          two.own[t] * (middle.of_own * e_middle + beside_v[0] * e[of_v + v.at[0]] + beside_v[1] * e[of_v + v.at[2]] +
                        beside_w[0] * e[of_w + w.at[0]] + beside_w[1] * e[of_w + w.at[2]]);
    }
    return sum;
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
