#pragma once

/// What runs the problems of a batch, whatever they are: each whole, by a thread, some lanes or a block.

#include <type_traits>

#include "whilst/basics/teams.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/engine/steps/phases.hpp"

namespace whilst::detail {

/// What a batch has one of, in the memory of its place. `root` is the loop that those of all problems are within: the
/// launch, the deadline and the wish to stop are its, and the time from the first problem to the last.
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

/// Problems is called as problems(k, team), by all threads of the team. It may say how many blocks_wanted of one thread
/// a problem a multiprocessor is to have, at the price of registers, and fast_memory_bytes(), shared memory of a block.

/// A thread a problem.
template <class Problems>
struct batch_by_thread {
  [[maybe_unused]] static constexpr bool whole_problem = true;
  [[maybe_unused]] static constexpr int blocks_wanted = Problems::blocks_wanted;
  Problems problems;
  WHILST_HD void operator()(index_type k) const { problems(k, lanes()); }
};
/// Some lanes of a warp a problem.
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
/// A block a problem.
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
