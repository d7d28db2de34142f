#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "whilst/basics/teams.hpp"

namespace whilst {

/// Afterwards the threads of a warp see what each wrote to shared memory before.
WHILST_HD inline void sync_warp(const lanes&) {}
/// The number that the first thread of a warp has, or the last. On the host a team is one thread.
WHILST_HD inline std::int32_t of_first(const lanes&, std::int32_t number) { return number; }
WHILST_HD inline std::int32_t of_last(const lanes&, std::int32_t number) { return number; }

/// The sum of the values of the threads before this one, back to the last that begins anew, whose value counts, too.
template <class T>
WHILST_HD T sum_before(const lanes&, T, bool) {
  return 0;
}

/// The bits of a number where two threads of any teams meet: none, before and after.
template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <class T>
inline constexpr bits_of<T> nobody = ~bits_of<T>{0};

/// The first of two threads leaves its sum, and is told false; the second adds that to its own. So which one came first
/// does not show in the sum. The number itself tells that it is there: nothing else has to be seen in order.
template <class T>
WHILST_HD bool adds_other(bits_of<T>* meeting, T& sum) {
  auto bits = std::bit_cast<bits_of<T>>(sum);
  if (bits == nobody<T>) --bits;  // not a number either
#if defined(__CUDA_ARCH__)
  using as_unsigned = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  bits = atomicExch(reinterpret_cast<as_unsigned*>(meeting), static_cast<as_unsigned>(bits));
#else
  bits = std::atomic_ref(*meeting).exchange(bits, std::memory_order_acq_rel);
#endif
  if (bits == nobody<T>) return false;
  *meeting = nobody<T>;
  sum += std::bit_cast<T>(bits);
  return true;
}

#if defined(__CUDACC__)
__device__ inline void sync_warp(const block_team&) { __syncwarp(); }
__device__ inline std::int32_t of_first(const block_team&, std::int32_t number) {
  return __shfl_sync(0xffffffffu, number, 0);
}
__device__ inline std::int32_t of_last(const block_team&, std::int32_t number) {
  return __shfl_sync(0xffffffffu, number, 31);
}

/// The same for a block: a segmented scan, of each warp and then of the warps. Sync before the next call.
template <class T>
__device__ T sum_before(const block_team& team, T value, bool begins) {
  constexpr unsigned whole_warp = 0xffffffffu;
  struct sum_of_warp {
    T sum;
    bool begins;
  };
  __shared__ sum_of_warp of_warp[32];
  const int lane = team.rank() % 32, warp = team.rank() / 32;
  const unsigned beginning = __ballot_sync(whole_warp, begins), up_to_own = beginning << (31 - lane);
  const int reach = min(__clz(static_cast<int>(up_to_own)), lane);  // how many lanes before it this one adds up
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const T further = __shfl_up_sync(whole_warp, value, distance);
    if (distance <= reach) value += further;
  }
  if (lane == 31) of_warp[warp] = {value, beginning != 0};
  T before = __shfl_up_sync(whole_warp, value, 1);
  if (lane == 0) before = 0;
  team.sync();
  bool complete = (up_to_own << 1) != 0;
  for (int w = warp - 1; w >= 0 && !complete; --w) {
    before += of_warp[w].sum;
    complete = of_warp[w].begins;
  }
  return before;
}
#endif

}  // namespace whilst
