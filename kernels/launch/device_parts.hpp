#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/launch/launch_values.hpp"
#include "kernels/launch/step.hpp"

namespace whilst {

/// A step that does nothing but follow its links.
std::unique_ptr<recorded_step> make_publisher();

#if WHILST_WITH_CUDA
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
