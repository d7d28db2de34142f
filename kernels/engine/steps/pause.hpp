#pragma once

#include <cstdint>

#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

#if WHILST_WITH_CUDA
/// Keeps a stream busy for a while, by a kernel that does nothing else.
void enqueue_pause(cudaStream_t stream, std::uint64_t nanoseconds);
#endif

}  // namespace whilst
