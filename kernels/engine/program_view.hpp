#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels/engine/lowering.hpp"
#include "whilst/engine/program.hpp"

namespace whilst {

/// The parts of a program, for the files that describe it. Refers to the program.
struct program_view {
  place where;
  executor running_on;
  bool prepared;  ///< otherwise what follows `nodes` is meaningless
  int unroll;
  const std::string& note;
  const std::vector<program_node>& nodes;
  const lowered_program& lowered;
  std::size_t words;                       ///< of parameters
  const std::vector<memory_item>& memory;  ///< its arena's and what was declared
  std::size_t step_memory;                 ///< bytes of partial sums and tickets on a GPU
  std::size_t graph;                       ///< bytes of the instantiated graph, an estimate
};

/// A copy of a loop's control from the memory of its place.
control copy_of(const control& on_place, place where);

/// The display name of a step or a call. One without a node is the library's own and only follows its links; one whose
/// kernel also runs its sequel has both names.
std::string title(const operation& op);

/// Calls visit(node, loops) for every node of a tree, in order; `loops` names the enclosing loops, outermost first, as
/// in "outer > inner".
void visit_nodes(const std::vector<program_node>& nodes,
                 const std::function<void(const program_node& node, const std::string& loops)>& visit,
                 const std::string& loops = {});

}  // namespace whilst
