#pragma once

#include <atomic>
#include <cstdint>

#include "whilst/basics/teams.hpp"

namespace whilst {

/// What a thread of a team is told by sum_before: the sum of the values of those before it, back to the last that
/// begins anew, whose value counts, too; and whether there is one.
template <class T>
struct running_sum {
  T sum = 0;
  bool begins = false;
};

/// On the host a team is one thread: nobody is before it.
template <class T>
WHILST_HD running_sum<T> sum_before(const lanes&, T, bool) {
  return {};
}

/// Whether this is the last of `all` teams that arrive at a counter, which begins at 0 and ends so. That one then sees
/// what the others wrote before, if it reads by read_early.
WHILST_HD inline bool arrives_last([[maybe_unused]] const lanes& alone, [[maybe_unused]] std::uint32_t* counter,
                                   [[maybe_unused]] std::uint32_t all) {
#if defined(__CUDA_ARCH__)
  return false;
#else
  const std::atomic_ref arrived(*counter);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < all) return false;
  arrived.store(0, std::memory_order_relaxed);
  return true;
#endif
}

#if defined(__CUDACC__)
/// The same for a block: a segmented scan, of each warp and then of the warps. Sync before the next call.
template <class T>
__device__ running_sum<T> sum_before(const block_team& team, T value, bool begins) {
  constexpr unsigned whole_warp = 0xffffffffu;
  __shared__ running_sum<T> of_warp[32];
  const int lane = team.rank() % 32, warp = team.rank() / 32;
  running_sum<T> own{value, begins}, before;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    before.sum = __shfl_up_sync(whole_warp, own.sum, distance);
    before.begins = __shfl_up_sync(whole_warp, static_cast<int>(own.begins), distance);
    if (lane < distance || own.begins) continue;
    own.sum += before.sum;
    own.begins = before.begins;
  }
  if (lane == 31) of_warp[warp] = own;
  before.sum = __shfl_up_sync(whole_warp, own.sum, 1);
  before.begins = __shfl_up_sync(whole_warp, static_cast<int>(own.begins), 1);
  if (lane == 0) before = {};
  team.sync();
  for (int w = warp - 1; w >= 0 && !before.begins; --w) {
    before.sum += of_warp[w].sum;
    before.begins = of_warp[w].begins;
  }
  return before;
}

/// The counter wraps to 0 by itself. Only the last block acquires, since that empties the multiprocessor's cache.
__device__ inline bool arrives_last(const block_team& team, std::uint32_t* counter, std::uint32_t all) {
  __shared__ bool is_last;
  team.sync();
  if (team.rank() == 0) {
    std::uint32_t before;
    asm volatile("atom.release.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(all - 1) : "memory");
    is_last = before == all - 1;
    if (is_last) __threadfence();
  }
  team.sync();
  return is_last;
}
#endif

}  // namespace whilst
