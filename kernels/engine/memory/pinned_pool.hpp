#pragma once

#include <cstddef>

#include "whilst/engine/memory/memory.hpp"

namespace whilst {

#if WHILST_WITH_CUDA

/// Pinned and mapped host memory of the current context, not zeroed. CUDA takes tens of microseconds for each piece of
/// pinned memory and waits for the GPU when it is freed, and a solver has twenty small ones. So small ones are cut from
/// larger blocks, and what is released is kept for the next until its context ends.
owned_memory take_pinned(std::size_t bytes);

#endif

}  // namespace whilst
