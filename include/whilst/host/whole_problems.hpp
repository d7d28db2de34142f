#pragma once

/// Runs the problems of a batch, whatever they are: each one whole, by a thread, some lanes or a block.

#include <type_traits>

#include "whilst/basics/teams.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/engine/steps/phases.hpp"

namespace whilst::detail {

/// The state shared by a whole batch, in the memory of its place. `root` is the loop that encloses those of all
/// problems: it holds the launch, the deadline, the request to stop, and the time from the first problem to the last.
struct batch_frame {
  control root;
  void* x;
};

struct batch_begins {
  control* root;
  WHILST_HD void operator()() const { root->arm(true); }
};
struct batch_ends {
  control* root;
  WHILST_HD void operator()() const { root->stopped_at = now_nanoseconds(); }
};

/// Problems is called as problems(k, team), by all threads of the team. It may declare blocks_wanted, the blocks per
/// multiprocessor with one thread per problem, at the price of registers, and fast_memory_bytes(), shared memory per
/// block.

/// A thread per problem.
template <class Problems>
struct batch_by_thread {
  [[maybe_unused]] static constexpr bool whole_problem = true;
  [[maybe_unused]] static constexpr int blocks_wanted = Problems::blocks_wanted;
  Problems problems;
  WHILST_HD void operator()(index_type k) const { problems(k, lanes()); }
};
/// Some lanes of a warp per problem.
template <class Problems>
struct batch_by_lanes {
  [[maybe_unused]] static constexpr bool whole_problem = true;
  Problems problems;
  int lanes_a_problem;
  WHILST_HD int lanes_wanted() const { return lanes_a_problem; }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    problems(k, team);
  }
};
/// A block per problem.
template <class Problems>
struct batch_by_block {
  [[maybe_unused]] static constexpr bool whole_block = true;
  Problems problems;
  int threads;
  int threads_wanted() const { return threads; }
  index_type fast_memory_bytes() const { return problems.fast_memory_bytes(); }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    problems(k, team);
  }
};

}  // namespace whilst::detail
