#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "whilst/engine/launch_values.hpp"
#include "whilst/engine/program.hpp"
#include "whilst/engine/steps/step.hpp"

namespace whilst {

/// A step that only follows its links.
std::unique_ptr<recorded_step> make_publisher();

/// A step that counts an iteration of its loop.
std::unique_ptr<recorded_step> make_iteration_counter();

/// A step that reopens a loop that yielded.
std::unique_ptr<recorded_step> make_reopener(control* loop);

#if WHILST_WITH_CUDA
/// What one thread needs to set a select's conditions.
struct selection {
  const int* flag;
  const int* guard;  ///< the running flag that the select obeys; may be null
  bool has_else;     ///< the first of two bodies if *flag is not 0, else the second
  int bodies;
  bool one_node;  ///< one SWITCH node; otherwise one IF node per body
  graph_condition conditions[most_choices];
};
void launch_selection(cudaStream_t stream, const selection& what);

/// Loads the code of write_words now, since loading may wait for the device.
void load_write_words(const std::vector<word_write>& words);

/// Writes words to memory of the device, by kernels that carry them as arguments: asynchronous, without staging memory;
/// in a capture the current values become part of the graph. Launches as many kernels as needed, in sequence, and calls
/// after_each after each launch.
void write_words(
    cudaStream_t stream, const std::vector<word_write>& words, const std::function<void()>& after_each = [] {});

/// Makes write_words' kernels, nodes of an instantiated graph, carry `words` instead of `former` from the next launch
/// on. Updates only those whose words changed.
void update_words(cudaGraphExec_t exec, const std::vector<cudaGraphNode_t>& nodes,
                  const std::vector<word_write>& former, const std::vector<word_write>& words);
#endif

}  // namespace whilst
