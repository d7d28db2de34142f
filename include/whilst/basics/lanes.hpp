#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

#if defined(__CUDACC__)
namespace detail {
/// Adds up each value over groups of so many neighbouring lanes: all values side by side, since one after another each
/// would wait for its own exchanges.
template <class T, int k>
__device__ void add_across_lanes(T (&value)[k], int lanes, unsigned mask) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    if (lanes <= distance) continue;
#pragma unroll
    for (int i = 0; i < k; ++i) value[i] += __shfl_xor_sync(mask, value[i], distance);
  }
}
}  // namespace detail
#endif

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
#if defined(__CUDA_ARCH__)
    detail::add_across_lanes(value.value, size_, mask_);
#endif
    return value;
  }
  /// Calls use(j, total j) for the totals of k values each, a power of two, once each on one lane or another: lanes
  /// that meet share the work, so that each has half as many left. Bit for bit what sum(value) gives.
  template <class T, int k, class Use>
  WHILST_HD void share_out(T (&value)[k], const Use& use) const {
    static_assert((k & (k - 1)) == 0, "lanes meet in pairs");
    switch (size_) {
      case 1:
        return share_out_of<1>(value, use);
      case 2:
        return share_out_of<2>(value, use);
      case 4:
        return share_out_of<4>(value, use);
      case 8:
        return share_out_of<8>(value, use);
      case 16:
        return share_out_of<16>(value, use);
      default:
        return share_out_of<32>(value, use);
    }
  }
  /// The sum over the lanes before the calling one.
  template <class T>
  WHILST_HD T sum_before([[maybe_unused]] T value) const {
#if defined(__CUDA_ARCH__)
    T sum = value;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      if (size_ <= distance) continue;
      const T before = __shfl_up_sync(mask_, sum, distance, size_);
      if (rank_ >= distance) sum += before;
    }
    return sum - value;
#else
    return T{};
#endif
  }
  /// The total, valid where rank() is 0; that thread also sees what the lanes wrote before.
  template <class T, int k>
  WHILST_HD sums<T, k> sum_on_leader(const sums<T, k>& value) const {
    const sums<T, k> total = sum(value);
    sync();
    return total;
  }
  /// The least value, which every lane receives.
  template <class T>
  WHILST_HD T least(T value) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      if (size_ <= distance) continue;
      const T other = __shfl_xor_sync(mask_, value, distance);
      value = other < value ? other : value;
    }
#endif
    return value;
  }
  /// These lanes divide no further: each row gets one thread.
  WHILST_HD static lanes divided(int) { return {}; }
  WHILST_HD int groups(int) const { return size_; }
  WHILST_HD int group(int) const { return rank_; }
  WHILST_HD void* fast_memory() const { return nullptr; }
  /// Reads in a fetch what steps before the last one wrote: see read_early.
  template <class T>
  WHILST_HD static T early(const T* address) {
    return read_early(address);
  }

 private:
  template <int size, class T, int k, class Use>
  WHILST_HD void share_out_of(T (&value)[k], const Use& use) const {
    int first = 0;                    // of those that the lane holds
    [[maybe_unused]] int others = 0;  // lanes that hold the same, but for the calling one
    constexpr int held = k > size ? k / size : 1;
#if defined(__CUDA_ARCH__)
    int left = k;
#pragma unroll
    for (int distance = size / 2; distance > 0; distance /= 2) {
      if (left == 1) {
        value[0] += __shfl_xor_sync(mask_, value[0], distance);
        others |= rank_ & distance;
        continue;
      }
      left /= 2;
      const bool upper = rank_ & distance;
      if (upper) first += left;
#pragma unroll
      for (int j = 0; j < k / 2; ++j) {
        if (j >= left) break;
        const T low = value[j], high = value[j + left];
        value[j] = (upper ? high : low) + __shfl_xor_sync(mask_, upper ? low : high, distance);
      }
    }
    if (others != 0) return;
#endif
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) use(first + j, value[j]);
  }

  int rank_ = 0, size_ = 1;
  [[maybe_unused]] unsigned mask_ = 1;
};

}  // namespace whilst
