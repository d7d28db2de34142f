#pragma once

#include "whilst/team_runner.hpp"

namespace whilst {

/// A map that runs a whole solve in one block, as the only step of a program: the executor `resident`. Solve is
/// anything that is called with a runner.
template <class Solve>
struct resident_map {
  static constexpr bool whole_block = true;
  Solve solve;
  int threads;

  int threads_wanted() const { return threads; }
  template <class Team>
  WHILST_HD void operator()(index, const Team& team) const {
    team_runner<Team> run(team);
    solve(run);
  }
};

/// A map that runs problem i in a thread or a warp: the executor `batch`, for small problems. Problems is called with an
/// index and gives a solve.
template <class Problems>
struct batch_map {
  static constexpr bool whole_problem = true;
  Problems problems;
  int lanes_a_problem;

  WHILST_HD int lanes_wanted() const { return lanes_a_problem; }
  template <class Team>
  WHILST_HD void operator()(index i, const Team& team) const {
    team_runner<Team> run(team);
    problems(i, team)(run);
  }
};

/// The same with a block a problem.
template <class Problems>
struct block_batch_map {
  static constexpr bool whole_block = true;
  Problems problems;
  int threads;

  int threads_wanted() const { return threads; }
  template <class Team>
  WHILST_HD void operator()(index i, const Team& team) const {
    team_runner<Team> run(team);
    problems(i, team)(run);
    team.sync();
  }
};

/// Threads of a block for a problem of n indexes.
inline int threads_for_problem(index n) {
  int threads = 32;
  while (threads < n && threads < 1024) threads *= 2;
  return threads;
}

}  // namespace whilst
