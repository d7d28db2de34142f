#pragma once

#include <malloc.h>

#include <cstdint>

#include "whilst/engine/memory/cuda.hpp"

namespace whilst_test {

/// Bytes that the process has allocated and not given back, in all threads that began after `one_arena`.
[[maybe_unused]] inline std::int64_t allocated_on_host() {
  const auto all = ::mallinfo2();
  return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
}
/// Has threads to come allocate where allocated_on_host counts: it sees the main thread's memory alone.
inline void one_arena() { ::mallopt(M_ARENA_MAX, 1); }

/// Bytes free on all GPUs.
[[maybe_unused]] inline std::int64_t free_on_gpus() {
  std::int64_t all = 0;
#if WHILST_WITH_CUDA
  for (int device = 0; device < whilst::cuda::device_count(); ++device) {
    const whilst::cuda::device_guard current(device);
    all += static_cast<std::int64_t>(whilst::cuda::free_bytes());
  }
#endif
  return all;
}

}  // namespace whilst_test
