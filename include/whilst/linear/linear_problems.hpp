#pragma once

#include <functional>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/linear/linear_solve.hpp"
#include "whilst/linear/spread_rows.hpp"

namespace whilst {

/// How the threads of a kernel share the systems that it solves.
struct kernel_layout {
  int threads = 1;              ///< for each system or, where it has blocks, for each of these
  int blocks = 0;               ///< of each system; 0: its threads are lanes of a warp
  int shift = 62;               ///< each block has 2^shift rows
  index_type bytes = 0;         ///< memory of each system, or of each of its blocks
  bool in_fast_memory = false;  ///< and it is the block's shared memory

  /// Whether a cluster solves each system, if only one of a single block.
  bool as_cluster(bool spans_blocks, index_type systems) const {
    return spans_blocks && (blocks > 1 || (blocks == 1 && systems == 1 && in_fast_memory));
  }
};

/// The fastest that is known. `lanes`: of each row. `spans_blocks`: whether several blocks may share a system;
/// `bytes_of_block` tells what one of them needs if it has 2^shift rows.
kernel_layout kernel_layout_for(const place& where, index_type rows, int lanes, index_type systems, bool spans_blocks,
                                const std::function<index_type(int shift)>& bytes_of_block);

/// Whether several blocks may share a system: they read one another's entries of a vector in products only.
template <class Solve, class Operator>
inline constexpr bool spans_several_blocks = requires {
  requires Operator::takes_spread_vectors;
  requires Solve::method_type::spans_blocks;
};

template <class Operator>
int lanes_of_row([[maybe_unused]] const Operator& A) {
  if constexpr (requires { A.lanes_wanted(); }) {
    return A.lanes_wanted();
  } else {
    return 1;
  }
}

/// What each block has of its own, in its memory, where several share a system; the first one's outcome is the host's.
template <class Solve>
struct copies_of_block {
  control* controls;  ///< outer and inner
  solve_outcome* outcome;
  solve_outcome** outcome_at;

  WHILST_HD explicit copies_of_block(workspace& memory)
      : controls(memory.take<control>(2)),
        outcome(memory.take<solve_outcome>(1)),
        outcome_at(memory.take<solve_outcome*>(1)) {}
};

/// Hands out the systems of a batch, or the one system of a resident solve.
template <class Solve, class T, class Operator, class Preconditioner>
struct linear_problems {
  Operator A;
  Preconditioner M;
  typename Solve::operands io;
  const control_settings* settings;
  const std::uint64_t* began;  ///< null for one system
  control *outer, *inner;
  std::byte* memory;
  index_type bytes_a_problem;
  bool in_fast_memory;
  std::byte* rows_memory = nullptr;  ///< where several blocks share a system: for what each copies of its rows
  index_type bytes_of_rows = 0;      ///< of each block
  int blocks = 1;                    ///< of each system

  template <class Team>
  WHILST_HD Solve operator()(index_type k, const Team& team) const {
    const index_type n = A.rows();
    typename Solve::operands shifted{io.b.shifted(k * n), io.x.shifted(k * n), io.outcome.shifted(k), io.settings};
    if constexpr (of_several_blocks<Team>) {
      // Always the block's own, as nvcc can tell: what is in it gets the instructions for shared memory.
      void* const own_memory = team.fast_memory();
      workspace of_block(own_memory, team.share());
      const copies_of_block<Solve> copies(of_block);
      const bool is_first = team.is_first_block();
      control *const own_outer = copies.controls, *const own_inner = own_outer + 1;
      if (!is_first) shifted.outcome = {copies.outcome_at};
      if (team.leads()) {
        *own_outer = *own_inner = control{};
        *copies.outcome_at = copies.outcome;
        set(own_outer, own_inner);
        if (is_first) {
          own_outer->for_host = outer + k;
          own_inner->for_host = inner + k;
        } else {
          own_outer->settings.history = own_inner->settings.history = nullptr;
        }
      }
      typename Solve::operator_type own_A(A.of_problem(k));
      const block_share own = team.share();
      if constexpr (requires { own_A.copy_rows(team, memory, own_memory); })
        own_A.copy_rows(team, rows_memory + (k * blocks + (own.first >> own.shift)) * bytes_of_rows, own_memory);
      team.sync_block();
      return Solve(own_A, M, shifted, own_outer, own_inner, of_block);
    } else {
      void* const fast = in_fast_memory ? team.fast_memory() : nullptr;
      void* const own_memory = fast ? fast : memory + k * bytes_a_problem;
      if (team.rank() == 0) set(outer + k, inner + k);
      team.sync();
      workspace of_problem(own_memory);
      return Solve(typename Solve::operator_type(A.of_problem(k)), M, shifted, outer + k, inner + k, of_problem);
    }
  }

 private:
  WHILST_HD void set(control* own_outer, control* own_inner) const {
    own_outer->settings = settings[0];
    own_inner->settings = settings[1];
    if (began && settings[0].deadline_nanoseconds) own_outer->settings.deadline_nanoseconds = time_left();
  }
  /// The deadline counts for the batch, not from each system's start. At least 1, since 0 means none.
  WHILST_HD std::uint64_t time_left() const {
    const std::uint64_t given = settings[0].deadline_nanoseconds, now = now_nanoseconds();
    const std::uint64_t used = now > *began ? now - *began : 0;
    return used < given ? given - used : 1;
  }
};

}  // namespace whilst
