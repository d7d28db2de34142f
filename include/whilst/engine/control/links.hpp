#pragma once

#include "whilst/engine/control/control.hpp"

#if WHILST_WITH_CUDA
#include <cuda_runtime.h>
#endif

namespace whilst {

/// A condition of a WHILE or IF node; 0 for none, as under executors other than graph.
using graph_condition = unsigned long long;

#if defined(__CUDACC__)
__device__ inline void set_condition(graph_condition condition, bool value) {
  if (condition) cudaGraphSetConditional(condition, value ? 1u : 0u);
}
#else
inline void set_condition(graph_condition, bool) {}
#endif

/// What one thread does once a step is complete, for the loops and branches around it. Finishes write flags in memory,
/// never conditions; this publishes the flags to the graph's nodes, and arms and opens the loop that comes next.
struct step_links {
  control* loop = nullptr;             ///< the loop that the step is in: clear its condition once it has stopped
  graph_condition loop_condition = 0;  ///
  const control* root = nullptr;       ///< the outermost enclosing loop, which receives requests to stop
  bool counts_trip = false;            ///< the step is the body's last finish
  control* arms = nullptr;             ///< the loop to arm after this step
  control* opens = nullptr;            ///< the loop whose first trip comes next
  graph_condition opens_condition = 0;
  const int* branch = nullptr;  ///< the flag of the branch that comes next
  graph_condition branch_condition = 0;

  /// Read this some time before the step ends, so that the answer has arrived by then.
  WHILST_HD outside_wish wish() const { return counts_trip ? root->wish() : outside_wish{}; }
  WHILST_HD const outside_wish* wish_at() const { return counts_trip ? &root->outside : nullptr; }

  /// Whether a loop or a branch comes next.
  WHILST_HD bool lead_on() const { return arms || opens || branch; }

  /// Runs after the step's finish, on the same thread, if the finish left the loop's state in memory.
  WHILST_HD void follow(reason asked) const { go_on(!loop || conclude_trip(*loop, asked)); }

  /// The same if the state was read ahead; writes it back to memory now.
  WHILST_HD void follow(loop_state& read_ahead, reason asked) const {
    conclude(read_ahead, asked);
    follow(read_ahead);
  }
  /// The same in two parts: whether the loop goes on; then the rest.
  WHILST_HD bool conclude(loop_state& read_ahead, reason asked) const { return conclude_trip(read_ahead, asked); }
  /// The first part for blocks that do not write, where several blocks reach it.
  WHILST_HD bool would_conclude(loop_state& copy, reason asked) const {
    if (counts_trip) copy.count_trip(asked);
    return copy.running != 0;
  }
  /// The rest of conclude() for the one that writes, where the loop does not go on.
  WHILST_HD void note_stop() const {
    loop->stopped_at = now_nanoseconds();
    publish(loop_condition, false);
  }
  WHILST_HD void follow(const loop_state& concluded) const {
    static_cast<loop_state&>(*loop) = concluded;
    go_on(concluded.running != 0);
  }

  /// Runs instead where the step was skipped because its loop has stopped: a condition keeps its last value, so clear
  /// those of what follows, and the loop's, too, in case another step stopped it.
  WHILST_HD void skip() const {
    publish(loop_condition, false);
    publish(opens_condition, false);
    publish(branch_condition, false);
  }

 private:
  WHILST_HD bool conclude_trip(loop_state& state, reason asked) const {
    if (would_conclude(state, asked)) return true;
    note_stop();
    return false;
  }
  WHILST_HD void go_on(bool running) const {
    if (arms) arms->arm(running);
    if (opens) publish(opens_condition, opens->open());
    if (branch) publish(branch_condition, *branch && running);
  }
  WHILST_HD static void publish([[maybe_unused]] graph_condition condition, [[maybe_unused]] bool value) {
#if defined(__CUDA_ARCH__)
    set_condition(condition, value);
#endif
  }
};

}  // namespace whilst
