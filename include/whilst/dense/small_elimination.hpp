#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/teams.hpp"

namespace whilst {

/// A system of up to m equations within a finish, its columns distributed over the threads of a warp, or all in one
/// thread. Thread c % size holds column c as its columns[c / size]; column m is the right-hand side.
template <int m, int size>
struct small_system {
  static constexpr int held = m / size + 1;
  double columns[held][m] = {};

  /// Calls use(c, column) for each column that a thread holds.
  template <class Team, class Use>
  WHILST_HD void each_column(const Team& team, const Use& use) {
    for (int h = 0; h < held; ++h)
      if (team.rank() + h * size <= m) use(team.rank() + h * size, columns[h]);
  }

  /// Gauss-Jordan without pivoting, unknowns 0 to count - 1 in that order or the reverse. An unknown whose pivot is at
  /// most its `least` is dropped: it is 0, and its equation ignored. All threads get the solution.
  template <bool from_last, class Team>
  WHILST_HD void solve(const Team& team, int count, const double (&least)[m], double (&solution)[m]) {
    bool is_in[m] = {};
    for (int turn = 0; turn < m; ++turn) {
      const int k = from_last ? m - 1 - turn : turn;
      if (k >= count) continue;
      double pivots[m];
      for (int i = 0; i < m; ++i) pivots[i] = team.broadcast(columns[k / size][i], k % size);
      if (!(fabs(pivots[k]) > least[k])) continue;
      is_in[k] = true;
      for (int h = 0; h < held; ++h) {
        const double factor = columns[h][k] / pivots[k];
        for (int i = 0; i < m; ++i) columns[h][i] -= i == k ? 0 : factor * pivots[i];
        columns[h][k] = factor;
      }
    }
    for (int i = 0; i < m; ++i) {
      const double value = team.broadcast(columns[m / size][i], m % size);
      solution[i] = is_in[i] ? value : 0;
    }
  }
};

}  // namespace whilst
