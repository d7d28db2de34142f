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

  /// Calls use(k, y, z) for the entries k of piece i that are the thread's.
  template <class Team, class Use>
  WHILST_HD void each(index_type i, const Team& team, const Use& use) const {
    const auto number = static_cast<std::uint32_t>(i), line = number / pieces;
    const auto all_y = static_cast<std::uint32_t>(lines_y);
    const int y = static_cast<int>(line % all_y), z = static_cast<int>(line / all_y);
    const int begin = static_cast<int>(number % pieces) * length;
    const int end = begin + length < entries ? begin + length : entries;
    for (int k = begin + team.rank(); k < end; k += team.size()) use(k, y, z);
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

/// b_coarse = P'(b - A u) after a sweep. Black points have no residual; that of the red ones is what the last sweep has
/// changed in their black neighbours, since it followed from these as they were before. So with K for the links from
/// red to black, b_coarse = P'K (black - before); `before` is null for 0.
template <class C>
struct restrict_residual : grid_step<C> {
  const C *black, *before;
  C* coarse;

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const grid_level<C>& grid = this->grid;
    this->pieces.each(i, team, [&](int X, int Y, int Z) {
      C sum = 0;
      for (int z = grid.first_fine(2, Z); z <= grid.last_fine(2, Z); ++z) {
        const C of_z = grid.share(2, z, Z), next_to_z = grid.share_of_neighbours(2, z, Z);
        for (int y = grid.first_fine(1, Y); y <= grid.last_fine(1, Y); ++y) {
          const C of_y = grid.share(1, y, Y), next_to_y = grid.share_of_neighbours(1, y, Y);
          const C along = grid.link(0, 0, y, z) * of_y * of_z;
          const C across = grid.of->axis[1] * grid.cell(2, z) * next_to_y * of_z +
                           grid.of->axis[2] * grid.cell(1, y) * of_y * next_to_z;
          if (along == 0 && across == 0) continue;
          int x = grid.first_fine(0, X);
          if ((x & 1) == grid.first_of_line(y, z)) ++x;
          for (const int last = grid.last_fine(0, X); x <= last; x += 2) {
            const index_type at = grid.half_index(x, y, z);
            const C change = before ? black[at] - before[at] : black[at];
            sum +=
                (along * grid.share_of_neighbours(0, x, X) + across * grid.cell(0, x) * grid.share(0, x, X)) * change;
          }
        }
      }
      coarse[grid.coarse_index(X, Y, Z)] = sum;
    });
  }
  index_type bytes(index_type) const {
    return ((before ? 2 : 1) * this->grid.half_size() + this->grid.coarse_size()) * static_cast<index_type>(sizeof(C));
  }
};

/// u += P e, and half a sweep of the black points: these change by D^-1 K'P e, with K as above. Red points follow from
/// them later, so what P e adds to these is not stored.
template <class C>
struct correct_black : grid_step<C> {
  const C* e;
  C* black;

  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const grid_level<C>& grid = this->grid;
    this->pieces.each(i, team, [&](int k, int y, int z) {
      const int x = 2 * k + 1 - grid.first_of_line(y, z);
      if (x >= grid.points[0]) return;
      const int X = grid.first_coarse(0, x), Y = grid.first_coarse(1, y), Z = grid.first_coarse(2, z);
      C of_x[3], next_to_x[3];
      for (int a = 0; a < 3; ++a) {
        of_x[a] = grid.cell(0, x) * grid.share(0, x, X + a);
        next_to_x[a] = grid.share_of_neighbours(0, x, X + a);
      }
      C sum = 0;
      for (int c = 0; c < 3; ++c) {
        const C of_z = grid.share(2, z, Z + c), next_to_z = grid.share_of_neighbours(2, z, Z + c);
        for (int b = 0; b < 3; ++b) {
          const C of_y = grid.share(1, y, Y + b), next_to_y = grid.share_of_neighbours(1, y, Y + b);
          const C along = grid.link(0, 0, y, z) * of_y * of_z;
          const C across = grid.of->axis[1] * grid.cell(2, z) * next_to_y * of_z +
                           grid.of->axis[2] * grid.cell(1, y) * of_y * next_to_z;
          if (along == 0 && across == 0) continue;
          for (int a = 0; a < 3; ++a) {
            const C weight = along * next_to_x[a] + across * of_x[a];
            if (weight != 0) sum += weight * e[grid.coarse_index(X + a, Y + b, Z + c)];
          }
        }
      }
      black[grid.half_index(x, y, z)] += sum / grid.diagonal(x, y, z);
    });
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
