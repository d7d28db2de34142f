#pragma once

#include <cstddef>

#include "whilst/host_device.hpp"
#include "whilst/views.hpp"

namespace whilst {

/// @file
/// A team is a few threads that work on one index together. Every team has rank(), size(), sync() and sum(x), the total
/// over its threads, which each of them receives. On the host a team is one thread, so a functor written for a team is
/// serial there. Two kinds: `lanes`, up to a warp, and `block_team`, a whole block.

/// 1, 2, 4, 8, 16 or 32 neighbouring threads of a warp.
class lanes {
 public:
  lanes() = default;
#if defined(__CUDACC__)
  __device__ explicit lanes(int size)
      : rank_(static_cast<int>(threadIdx.x) & (size - 1)),
        size_(size),
        mask_((size == 32 ? 0xffffffffu : (1u << size) - 1u) << ((threadIdx.x & 31u) & ~(size - 1u))) {}
#endif
  WHILST_HD int rank() const { return rank_; }
  WHILST_HD int size() const { return size_; }
  WHILST_HD void sync() const {
#if defined(__CUDA_ARCH__)
    if (size_ > 1) __syncwarp(mask_);
#endif
  }
  template <class T>
  WHILST_HD T sum(T value) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      if (size_ > distance) value += __shfl_xor_sync(mask_, value, distance);
#endif
    return value;
  }
  template <class T, int k>
  WHILST_HD sums<T, k> sum(sums<T, k> value) const {
    for (int i = 0; i < k; ++i) value.value[i] = sum(value.value[i]);
    return value;
  }
  /// The total where rank() is 0; what the lanes wrote before is seen there.
  template <class T, int k>
  WHILST_HD sums<T, k> sum_on_leader(const sums<T, k>& value) const {
    const sums<T, k> total = sum(value);
    sync();
    return total;
  }
  /// Within these lanes there is nothing to divide further: rows are done by one thread each.
  WHILST_HD static lanes divided(int) { return {}; }
  WHILST_HD int groups(int) const { return size_; }
  WHILST_HD int group(int) const { return rank_; }
  WHILST_HD void* fast_memory() const { return nullptr; }

 private:
  int rank_ = 0, size_ = 1;
  [[maybe_unused]] unsigned mask_ = 1;
};

#if defined(__CUDACC__)
/// The same lanes where all of their warp takes part, as in the fetch and read phases of a map: the hardware need not
/// be told who does.
class lanes_of_whole_warp {
 public:
  __device__ explicit lanes_of_whole_warp(int size) : rank_(static_cast<int>(threadIdx.x) & (size - 1)), size_(size) {}
  __device__ int rank() const { return rank_; }
  __device__ int size() const { return size_; }
  __device__ void sync() const { __syncwarp(); }
  template <class T>
  __device__ T sum(T value) const {
    if (size_ == 1) return value;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      if (size_ > distance) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
  }
  template <class T, int k>
  __device__ sums<T, k> sum(sums<T, k> value) const {
    for (int i = 0; i < k; ++i) value.value[i] = sum(value.value[i]);
    return value;
  }

 private:
  int rank_, size_;
};

/// All threads of a block; its size is a multiple of 32.
class block_team {
 public:
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
  /// Every thread receives the total, added in a fixed order.
  template <class T, int k>
  __device__ sums<T, k> sum(sums<T, k> value) const {
    __shared__ sums<T, k> of_warp[32];
    value = lanes(32).sum(value);
    if (blockDim.x == 32) {
      __syncwarp();
      return value;
    }
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    const unsigned warps = blockDim.x / 32, lane = threadIdx.x & 31;
    sums<T, k> total{};
    if (lane < warps) total = of_warp[lane];
    total = lanes(32).sum(total);
    __syncthreads();
    return total;
  }
  template <class T>
  __device__ T sum(T value) const {
    return sum(sums<T, 1>{{value}})[0];
  }
  /// The total where rank() is 0; what the block wrote before is seen there. Not to be called again before a sync().
  template <class T, int k>
  __device__ sums<T, k> sum_on_leader(sums<T, k> value) const {
    __shared__ sums<T, k> of_warp[32];
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) & 31;
    value = lanes(32).sum(value);
    if (lane == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x >= 32) return value;
    return warps == 1 ? value : lanes_of_whole_warp(32).sum(lane < warps ? of_warp[lane] : sums<T, k>{});
  }
  /// The block as groups of `width` lanes each, for maps that ask for lanes.
  __device__ static lanes divided(int width) { return lanes(width); }
  __device__ int groups(int width) const { return size() / width; }
  __device__ int group(int width) const { return rank() / width; }
  /// The block's dynamic shared memory.
  __device__ static void* fast_memory() {
    extern __shared__ __align__(256) std::byte whilst_fast_memory[];
    return whilst_fast_memory;
  }
};
#endif

}  // namespace whilst
