#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels/engine/lowering.hpp"
#include "whilst/engine/program.hpp"

namespace whilst {

/// What a program is made of, for the files that tell of it. Refers to the program.
struct program_view {
  place where;
  executor running_on;
  bool prepared;  ///< else what follows `nodes` means nothing
  int unroll;
  const std::string& note;
  const std::vector<program_node>& nodes;
  const lowered_program& lowered;
  std::size_t words;                       ///< of parameters
  const std::vector<memory_item>& memory;  ///< its arena's, and what it was told of
  std::size_t step_memory;                 ///< bytes of partial sums and tickets on a GPU
  std::size_t graph;                       ///< bytes of the instantiated graph, an estimate
};

/// A loop's control as it stands in the memory of its place.
control copy_of(const control& on_place, place where);

/// What a step or a call is called, for a person. One without a node is the library's own and only follows its links;
/// one whose kernel runs its sequel, too, has both names.
std::string title(const operation& op);

/// Calls visit(node, loops) for every node of a tree, in order; `loops` names those around it, outermost first, as in
/// "outer > inner".
void visit_nodes(const std::vector<program_node>& nodes,
                 const std::function<void(const program_node& node, const std::string& loops)>& visit,
                 const std::string& loops = {});

}  // namespace whilst
