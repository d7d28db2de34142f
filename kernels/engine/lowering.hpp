#pragma once

#include <functional>
#include <vector>

#include "whilst/engine/program.hpp"

namespace whilst {

/// A program in the form that executors run: the same tree with loops unrolled, and with each step knowing what it must
/// publish, arm and open for the nodes around it. Refers to the program's nodes.
struct operation {
  enum class kind { step, call, loop, branch, select, parallel };
  kind what;
  const program_node* node = nullptr;
  /// Of a step: the node's own; or the previous step, if this is its finish and sequel; or the shared one that only
  /// follows its links.
  recorded_step* step = nullptr;
  int host_threads = 0;  ///< of a step on the host: see run_on_threads
  step_frame frame{};    ///< of a step: all but the conditions
  launch_shape shape{};
  bool overlaps = false;     ///< may start while the step before it ends
  bool runs_sequel = false;  ///< of a step: after its own work, it also does the next step's
  // Conditions are numbered here and become graph handles when a graph is built; 0 is none.
  int loop_condition = 0, opens_condition = 0, branch_condition = 0;
  int condition = 0;              ///< of a loop, a branch or a select: its own; of a select the first of one per body
  const control* loop = nullptr;  ///< of a loop
  const int* flag = nullptr;      ///< of a branch or a select
  const int* guard = nullptr;     ///< of a branch or a select: the running flag that it also obeys
  std::vector<operation> body{};
  std::vector<std::vector<operation>> bodies{};  ///< of a select or of parallel bodies

  /// Of a select: the number of the body that runs, or bodies.size() if none does.
  std::size_t choice(int flag_value) const {
    if (node->has_else) return flag_value ? 0 : 1;
    return flag_value >= 0 && static_cast<std::size_t>(flag_value) < bodies.size()
               ? static_cast<std::size_t>(flag_value)
               : bodies.size();
  }
};

struct lowered_program {
  std::vector<operation> operations;
  int conditions = 0;
  int depth = 0;  ///< nesting depth of loops and branches
};

/// Where a step's partial sums and ticket lie, and its launch shape; the same for every copy of the step, since copies
/// never run at once.
struct step_resources {
  void* partials = nullptr;
  unsigned* ticket = nullptr;
  launch_shape shape;
  bool may_overlap = false;
};

struct lowering_options {
  int unroll = 1;        ///< copies of the body of each loop that allows it
  int host_threads = 0;  ///< of each step on the host
  std::function<step_resources(const recorded_step&)> resources;
  recorded_step* publisher = nullptr;  ///< a step that does nothing but follow its links
  /// To resume a loop that yielded: begin with it, the node of this number; this step opens it instead of its arming
  /// and start.
  std::size_t first = 0;
  recorded_step* reopener = nullptr;
};

lowered_program lower(const std::vector<program_node>& nodes, const lowering_options& options);

/// Whether the body of this loop may be repeated within a trip: not if it contains a loop or a call that a verdict must
/// hold back.
bool can_unroll(const program_node& loop);

}  // namespace whilst
