#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/launch/program.hpp"
#include "kernels/launch/step.hpp"

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

/// Writes words to addresses in device memory, as kernels that carry them: asynchronous, with no staging memory to look
/// after, and in a capture the values of now become part of the graph.
void write_words(cudaStream_t stream, const std::vector<std::uint64_t*>& addresses,
                 const std::vector<std::uint64_t>& words);
#endif

}  // namespace whilst
