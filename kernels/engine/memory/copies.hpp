#pragma once

#include <cstddef>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// Copies between host memory and memory of a place that somebody else owns; return when the copy is complete. See
/// raw_buffer::upload.
void copy_to_place(place where, void* target, const void* source, std::size_t bytes);
void copy_from_place(place where, void* target, const void* source, std::size_t bytes);

/// Returns when the memory, which somebody else owns, is zero.
void set_to_zero(place where, void* target, std::size_t bytes);

#if WHILST_WITH_CUDA
/// Has memory of a GPU zeroed beside all other work, and records `done` behind that.
void begin_zeroing(place where, void* target, std::size_t bytes, CUevent_st* done);
#endif

}  // namespace whilst
