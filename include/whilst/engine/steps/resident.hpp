#pragma once

#include <type_traits>

#include "whilst/engine/steps/team_runner.hpp"

namespace whilst {

/// Maps that run whole problems: the executors `resident`, one problem in one block, and `batch`, many at once. As the
/// only step of a program they need no loop on the host and no graph. All threads of the team that is to run problem i
/// call problems(i, team), which either runs it or returns a callable that takes a runner:
///
///   auto solve = problems(i, team);   solve(run);

/// A thread per problem. Problems runs them and declares blocks_wanted, the blocks per multiprocessor, at the price of
/// registers.
template <class Problems>
struct problems_by_thread {
  [[maybe_unused]] static constexpr bool whole_problem = true;
  [[maybe_unused]] static constexpr int blocks_wanted = Problems::blocks_wanted;
  Problems problems;
  WHILST_HD void operator()(index_type i) const { problems(i, lanes()); }
};

/// Some lanes of a warp per problem.
template <class Problems>
struct problems_by_lanes {
  [[maybe_unused]] static constexpr bool whole_problem = true;
  Problems problems;
  int lanes_a_problem;

  WHILST_HD int lanes_wanted() const { return lanes_a_problem; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    if constexpr (std::is_void_v<decltype(problems(i, team))>) {
      problems(i, team);
    } else {
      team_runner<Team> run(team);
      problems(i, team)(run);
    }
  }
};

/// One block per problem.
template <class Problems>
struct problems_by_block {
  [[maybe_unused]] static constexpr bool whole_block = true;
  Problems problems;
  int threads;
  index_type fast_bytes = 0;  ///< shared memory per problem

  int threads_wanted() const { return threads; }
  index_type fast_memory_bytes() const { return fast_bytes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    if constexpr (std::is_void_v<decltype(problems(i, team))>) {
      problems(i, team);
    } else {
      team_runner<Team> run(team);
      problems(i, team)(run);
    }
  }
};

/// A cluster of blocks per problem, or one block: each works on 2^shift of its indices.
template <class Problems>
struct problems_by_cluster {
  [[maybe_unused]] static constexpr bool whole_cluster = true;
  Problems problems;
  int blocks, threads, shift;
  index_type fast_bytes = 0;  ///< shared memory of each block

  int threads_wanted() const { return threads; }
  int cluster_wanted() const { return blocks; }
  index_type fast_memory_bytes() const { return fast_bytes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, [[maybe_unused]] const Team& team) const {
#if defined(__CUDA_ARCH__)
    __shared__ cluster_team::mailbox mailbox;
    const cluster_team all(mailbox, shift);
    team_runner<cluster_team> run(all);
    problems(i, all)(run);
    all.meet();
#else
    team_runner<Team> run(team);
    problems(i, team)(run);
#endif
  }
};

/// A single problem as Problems.
template <class Solve>
struct one_problem {
  Solve solve;
  template <class Team>
  WHILST_HD Solve operator()(index_type, const Team&) const {
    return solve;
  }
};

/// Threads of a block for a problem of n indices.
inline int threads_for_problem(index_type n) {
  int threads = 32;
  while (threads < n && threads < 1024) threads *= 2;
  return threads;
}

}  // namespace whilst
