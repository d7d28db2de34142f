#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "whilst/engine/launch_values.hpp"
#include "whilst/engine/program.hpp"
#include "whilst/engine/steps/step.hpp"

namespace whilst {

/// A step that does nothing but follow its links.
std::unique_ptr<recorded_step> make_publisher();

/// A step that opens a loop which has yielded.
std::unique_ptr<recorded_step> make_reopener(control* loop);

#if WHILST_WITH_CUDA
/// What one thread needs to tell a select's nodes which body runs.
struct selection {
  const int* flag;
  const int* guard;  ///< the running flag that the select obeys; may be null
  bool has_else;     ///< the first of two bodies if *flag is not 0, else the second
  int bodies;
  bool one_node;  ///< one SWITCH node; otherwise an IF node a body
  graph_condition conditions[most_choices];
};
void launch_selection(cudaStream_t stream, const selection& what);

/// Has the code of write_words loaded now, since loading it may wait for the device.
void load_write_words();

/// Writes words to memory of the device, by kernels that carry them: asynchronous, with no staging memory to look
/// after, and in a capture the values of now become part of the graph. As many kernels as it takes, one after another;
/// after_each is called after the launch of each.
void write_words(
    cudaStream_t stream, const std::vector<word_write>& words, const std::function<void()>& after_each = [] {});

/// The kernels that write_words made, nodes of an instantiated graph, are to carry `words` and not `former`, from the
/// next launch on. Only those that carry something else than before are touched.
void update_words(cudaGraphExec_t exec, const std::vector<cudaGraphNode_t>& nodes,
                  const std::vector<word_write>& former, const std::vector<word_write>& words);
#endif

}  // namespace whilst
