#pragma once

#include <algorithm>

#include "solvers/linear/geometric_multigrid/grid_level.hpp"
#include "whilst/basics/teams.hpp"

namespace whilst::geometric_multigrid {

/// How a step goes through the lines of a grid along x: by pieces, each of a team, so that what lines have in common is
/// worked out once.
struct line_pieces {
  int entries, lines_y, lanes, length;
  std::uint32_t pieces;  ///< of a line

  line_pieces(int entries, int lines_y, bool on_host) : entries(entries), lines_y(lines_y), lanes(1), length(32) {
    if (!on_host) {
      while (lanes < 32 && lanes < entries) lanes *= 2;
      length = 2 * lanes;
    }
    pieces = static_cast<std::uint32_t>((entries + length - 1) / length);
  }
  index_type count(int lines_z) const { return index_type{lines_z} * lines_y * pieces; }

  /// The line of piece i.
  struct line {
    int y, z, begin, end;
  };
  WHILST_HD line piece(index_type i) const {
    const auto number = static_cast<std::uint32_t>(i), of_all = number / pieces;
    const auto all_y = static_cast<std::uint32_t>(lines_y);
    const int begin = static_cast<int>(number % pieces) * length;
    return {static_cast<int>(of_all % all_y), static_cast<int>(of_all / all_y), begin,
            begin + length < entries ? begin + length : entries};
  }
  /// Calls use(k, y, z) for the entries k of piece i that are the thread's.
  template <class Team, class Use>
  WHILST_HD void each(index_type i, const Team& team, const Use& use) const {
    const line of = piece(i);
    for (int k = of.begin + team.rank(); k < of.end; k += team.size()) use(k, of.y, of.z);
  }
};

template <class C>
struct grid_step {
  grid_level<C> grid;
  line_pieces pieces;
  WHILST_HD int lanes_wanted() const { return pieces.lanes; }
};

/// The first sweep from u = 0: red points have b / diagonal, which nobody stores, and the black ones follow from them.
template <class C, class B>
struct first_sweep : grid_step<C> {
  const B* b;
  C* black;

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const grid_level<C>& grid = this->grid;
    const auto b_at = [&](int x, int y, int z) { return static_cast<C>(b[grid.index(x, y, z)]); };
    this->pieces.each(i, team, [&](int k, int y, int z) {
      const int x = 2 * k + 1 - grid.first_of_line(y, z);
      if (x >= grid.points[0]) return;
      const C of_red =
          grid.neighbours(x, y, z, [&](int i, int j, int k) { return b_at(i, j, k) / grid.diagonal(i, j, k); });
      black[grid.half_index(x, y, z)] = (b_at(x, y, z) + of_red) / grid.diagonal(x, y, z);
    });
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

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const grid_level<C>& grid = this->grid;
    this->pieces.each(i, team, [&](int k, int y, int z) {
      const int x = 2 * k + (grid.first_of_line(y, z) ^ colour);
      if (x >= grid.points[0]) return;
      const C of_others =
          grid.neighbours(x, y, z, [&](int i, int j, int k) { return others[grid.half_index(i, j, k)]; });
      own[grid.half_index(x, y, z)] = (static_cast<C>(b[grid.index(x, y, z)]) + of_others) / grid.diagonal(x, y, z);
    });
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

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const grid_level<C>& grid = this->grid;
    const auto black_at = [&](int x, int y, int z) { return black[grid.half_index(x, y, z)]; };
    this->pieces.each(i, team, [&](int k, int y, int z) {
      for (int x = 2 * k; x < 2 * k + 2 && x < grid.points[0]; ++x) {
        const index_type at = grid.index(x, y, z);
        if ((x & 1) == grid.first_of_line(y, z)) {
          put(at, (static_cast<C>(b[at]) + grid.neighbours(x, y, z, black_at)) / grid.diagonal(x, y, z));
        } else {
          put(at, black_at(x, y, z));
        }
      }
    });
  }
  index_type bytes(index_type) const {
    return put.bytes(this->grid.size()) + this->grid.size() * static_cast<index_type>(sizeof(B)) +
           this->grid.half_size() * static_cast<index_type>(sizeof(C));
  }
};

/// What joins a black point with a coarse one: K'P, with K for the links from red to black, is a sum of products along
/// the axes. Of two lines along x, one of each grid: the factor of what neighbours along x have, and of a point's own.
template <class C>
struct joined_lines {
  C of_neighbours, own;

  WHILST_HD joined_lines(const grid_level<C>& grid, int y, int z, int Y, int Z) {
    const auto of_y = grid.shares_of(1, y, Y), of_z = grid.shares_of(2, z, Z);
    of_neighbours = grid.link(0, 0, y, z) * of_y.own * of_z.own;
    own = grid.of->axis[1] * grid.cell(2, z) * of_y.of_neighbours * of_z.own +
          grid.of->axis[2] * grid.cell(1, y) * of_y.own * of_z.of_neighbours;
  }
};

/// b_coarse = P'(b - A u) after a sweep. Black points have no residual; that of the red ones is what the last sweep has
/// changed in their black neighbours, since it followed from these as they were before: b_coarse = P'K (black -
/// before). `before` is null for 0.
template <class C>
struct restrict_residual : grid_step<C> {
  const C *black, *before;
  C* coarse;

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    constexpr int near = grid_level<C>::near_fine;
    const grid_level<C>& grid = this->grid;
    const auto [Y, Z, begin, end] = this->pieces.piece(i);
    const int y = grid.first_fine(1, Y), z = grid.first_fine(2, Z);
    C of_neighbours[near * near], own[near * near];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int m = 0; m < near * near; ++m) {
      const joined_lines<C> lines(grid, y + m % near, z + m / near, Y, Z);
      of_neighbours[m] = lines.of_neighbours;
      own[m] = lines.own;
    }
    for (int X = begin + team.rank(); X < end; X += team.size()) {
      const int first = grid.first_fine(0, X);
      typename grid_level<C>::shares of_x[near];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int a = 0; a < near; ++a) of_x[a] = grid.shares_of_cell(first + a, X);
      C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int m = 0; m < near * near; ++m) {
        if (of_neighbours[m] == 0 && own[m] == 0) continue;
        const int red = grid.first_of_line(y + m % near, z + m / near);
        const index_type line = grid.half_index(0, y + m % near, z + m / near);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int a = 0; a < near; ++a) {
          const int x = first + a;
          const C weight = of_neighbours[m] * of_x[a].of_neighbours + own[m] * of_x[a].own;
          if ((x & 1) == red || weight == 0) continue;
          const index_type at = line + x / 2;
          sum += weight * (before ? black[at] - before[at] : black[at]);
        }
      }
      coarse[grid.coarse_index(X, Y, Z)] = sum;
    }
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

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const grid_level<C>& grid = this->grid;
    const auto [y, z, begin, end] = this->pieces.piece(i);
    const int Y = grid.first_coarse(1, y), Z = grid.first_coarse(2, z), first = 1 - grid.first_of_line(y, z);
    constexpr int near = grid_level<C>::near_coarse;
    C of_neighbours[near * near], own[near * near];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int m = 0; m < near * near; ++m) {
      const joined_lines<C> lines(grid, y, z, Y + m % near, Z + m / near);
      of_neighbours[m] = lines.of_neighbours;
      own[m] = lines.own;
    }
    for (int k = begin + team.rank(); k < end; k += team.size()) {
      const int x = 2 * k + first, X = grid.first_coarse(0, x);
      if (x >= grid.points[0]) continue;
      typename grid_level<C>::shares of_x[near];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int a = 0; a < near; ++a) of_x[a] = grid.shares_of_cell(x, X + a);
      C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int m = 0; m < near * near; ++m) {
        if (of_neighbours[m] == 0 && own[m] == 0) continue;
        const C* const line = e + grid.coarse_index(X, Y + m % near, Z + m / near);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int a = 0; a < near; ++a) {
          const C weight = of_neighbours[m] * of_x[a].of_neighbours + own[m] * of_x[a].own;
          if (weight != 0) sum += weight * line[a];
        }
      }
      black[grid.half_index(x, y, z)] += sum / grid.diagonal(x, y, z);
    }
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

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const grid_level<C>& grid = this->grid;
    const auto u_at = [&](int x, int y, int z) { return u[grid.index(x, y, z)]; };
    this->pieces.each(i, team, [&](int x, int y, int z) {
      const index_type at = grid.index(x, y, z);
      t[at] = b[at] - grid.diagonal(x, y, z) * u[at] + grid.neighbours(x, y, z, u_at);
    });
  }
  index_type bytes(index_type) const { return 3 * this->grid.size() * static_cast<index_type>(sizeof(C)); }
};

}  // namespace whilst::geometric_multigrid
