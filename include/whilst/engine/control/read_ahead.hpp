#pragma once

/// Copies memory that a finish will read to shared memory while the sums are formed. For nvcc.

#include <cstddef>

#include "whilst/engine/control/control.hpp"

namespace whilst::detail {

/// What the finish and the links read of the loops' controls, copied to shared memory while the sums are formed:
/// registers have no room for it. Thread 0 starts the copies; readers call wait() first.
class controls_ahead {
  alignas(16) loop_state state_;
  alignas(16) outside_wish wish_;

 public:
  __device__ void start(const loop_state* state, const outside_wish* wish) {
    if (state) copy(&state_, state);
    if (wish) copy(&wish_, wish);
  }
  /// Call before the other members, and before the thread ends.
  __device__ void wait() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  }
  __device__ loop_state& state() { return state_; }
  __device__ const outside_wish& wish() const { return wish_; }

 private:
  template <class T>
  __device__ static void copy(T* target, const T* source) {
#if __CUDA_ARCH__ >= 800
    static_assert(alignof(T) == 16 && sizeof(T) % 16 == 0);
    const auto target_shared = static_cast<unsigned>(__cvta_generic_to_shared(target));
#pragma unroll
    for (unsigned byte = 0; byte < sizeof(T); byte += 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target_shared + byte),
                   "l"(reinterpret_cast<const std::byte*>(source) + byte)
                   : "memory");
#else
    *target = *source;
#endif
  }
};

/// Copies for a finish by a whole warp, issued by all its lanes; they join the controls' copies and are waited for
/// together.
struct copy_by_warp {
  template <class T>
  __device__ void operator()(T& target, const T* source) const {
    static_assert(alignof(T) % 16 == 0 && sizeof(T) % 16 == 0);
    const unsigned lane = threadIdx.x % 32;
#if __CUDA_ARCH__ >= 800
    const auto target_shared = static_cast<unsigned>(__cvta_generic_to_shared(&target));
#pragma unroll
    for (unsigned first = 0; first < sizeof(T); first += 32 * 16) {
      const unsigned byte = first + lane * 16;
      if (byte < sizeof(T))
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target_shared + byte),
                     "l"(reinterpret_cast<const std::byte*>(source) + byte)
                     : "memory");
    }
#else
    if (lane == 0) target = *source;
#endif
  }
};

}  // namespace whilst::detail
