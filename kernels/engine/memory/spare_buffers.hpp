#pragma once

#include <cstddef>

#include "whilst/engine/memory/memory.hpp"

namespace whilst {

#if WHILST_WITH_CUDA

/// A small buffer on the current GPU, with anything in it: one that a program has left, or a new one. A set-up runs ten
/// programs one after another, and for each CUDA would take as long to allocate and to free as for several kernels.
raw_buffer take_spare(place where, std::size_t bytes);

/// Leaves a buffer that nothing in flight uses for the next. Frees it if it is large, and the oldest if there are many.
void leave_spare(raw_buffer used) noexcept;

#endif

}  // namespace whilst
