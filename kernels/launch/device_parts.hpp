#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/launch/step.hpp"

namespace whilst {

/// A step that does nothing but follow its links.
std::unique_ptr<recorded_step> make_publisher();

#if WHILST_WITH_CUDA
/// Has the code of write_words loaded now, since loading it may wait for the device.
void load_write_words();

/// Writes words to addresses in device memory, as kernels that carry them: asynchronous, with no staging memory to look
/// after, and in a capture the values of now become part of the graph.
void write_words(cudaStream_t stream, const std::vector<std::uint64_t*>& addresses,
                 const std::vector<std::uint64_t>& words);
#endif

}  // namespace whilst
