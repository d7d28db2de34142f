#pragma once

/// WHILST_HD marks a function that runs on the host and inside kernels; it expands to nothing unless nvcc compiles.
#if defined(__CUDACC__)
#define WHILST_HD __host__ __device__
#define WHILST_NOINLINE __noinline__
#else
#define WHILST_HD
#define WHILST_NOINLINE
#endif

#include <cstdint>

#if !defined(__CUDA_ARCH__)
#include <chrono>
#endif

namespace whilst {

/// Whether a function is compiled for host or device, where the best constants differ.
#if defined(__CUDA_ARCH__)
inline constexpr bool on_device = true;
#else
inline constexpr bool on_device = false;
#endif

/// Nanoseconds on the caller's clock: the GPU's global timer or the host's steady clock. Only differences mean
/// anything.
WHILST_HD inline std::uint64_t now_nanoseconds() {
#if defined(__CUDA_ARCH__)
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
#else
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
#endif
}

}  // namespace whilst

/// Put before a loop that runs rarely or only a few times: keeps device code from unrolling it.
#if defined(__CUDA_ARCH__)
#define WHILST_ROLLED _Pragma("unroll 1")
#else
#define WHILST_ROLLED
#endif
/// Put before a loop of a few turns whose indices choose among registers.
#if defined(__CUDA_ARCH__)
#define WHILST_UNROLLED _Pragma("unroll")
#else
#define WHILST_UNROLLED
#endif
