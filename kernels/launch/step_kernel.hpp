#pragma once

/// The kernel that runs a step: its indexes, its sums over the grid, its finish and its links. For nvcc.

#include <type_traits>

#include <cooperative_groups.h>

#include "kernels/launch/links.hpp"
#include "kernels/launch/phases.hpp"
#include "kernels/launch/step_frame.hpp"
#include "whilst/teams.hpp"

namespace whilst::detail {

/// Every thread of every step calls this before its first global read: with overlapping launches the step before may
/// still be running.
__device__ inline void wait_for_previous_step() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void let_next_step_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Random waits of up to some microseconds, different in each block and at each point.
__device__ inline void delay(unsigned seed, unsigned point) {
  if (!seed) return;
  unsigned h = seed ^ (blockIdx.x * 2654435761u) ^ (point * 40503u) ^ static_cast<unsigned>(clock64());
  h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
  const long long until = clock64() + (h & 8191u);
  while (clock64() < until) {
  }
}

/// The indexes of one thread: first, first + stride, ... below n; and how far the first is from that of its warp.
struct index_range {
  index first, stride, n;
  int in_warp;
};
template <class Map>
__device__ index_range indexes_of_thread(const step_frame& frame) {
  if constexpr (team_kind_of<Map>() == team_kind::block) {
    return {static_cast<index>(blockIdx.x), static_cast<index>(gridDim.x), frame.n, 0};
  } else if constexpr (team_kind_of<Map>() == team_kind::lanes) {
    const int shift = __ffs(frame.lanes) - 1;  // lanes are a power of two
    const index groups_a_block = blockDim.x >> shift;
    return {blockIdx.x * groups_a_block + (threadIdx.x >> shift), gridDim.x * groups_a_block, frame.n,
            static_cast<int>(threadIdx.x & 31u) >> shift};
  } else {
    return {static_cast<index>(blockIdx.x) * blockDim.x + threadIdx.x, static_cast<index>(gridDim.x) * blockDim.x,
            frame.n, 0};
  }
}
template <class Map>
__device__ auto team_of_thread([[maybe_unused]] const step_frame& frame) {
  if constexpr (team_kind_of<Map>() == team_kind::block) {
    return block_team();
  } else if constexpr (team_kind_of<Map>() == team_kind::lanes) {
    return lanes(frame.lanes);
  } else {
    return lanes();
  }
}
template <class Map>
__device__ auto reading_team_of_thread(const step_frame& frame) {
  if constexpr (team_kind_of<Map>() == team_kind::lanes) {
    return lanes_of_whole_warp(frame.lanes);
  } else {
    return team_of_thread<Map>(frame);
  }
}

struct no_sums {};

/// Counts this block as done; true if it was the last. What the block wrote before is seen by whoever gets true. For
/// thread 0, after a barrier.
__device__ inline bool arrive_last(unsigned* ticket) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(gridDim.x - 1) : "memory");
  return before == gridDim.x - 1;
}

/// Waits for all threads of the cluster; what each wrote before, the others see after.
__device__ inline void meet_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// The same as grid_total where the grid is one cluster: the first block reads the others' sums in their shared memory,
/// which takes a fraction of the time that a ticket in global memory does. `total` is the block's, on thread 0.
template <class Total>
__device__ bool cluster_total(Total& total) {
  __shared__ Total of_block;
  if (threadIdx.x == 0) of_block = total;
  meet_cluster();
  if (blockIdx.x != 0) {
    meet_cluster();  // a block stays until its sum has been read; threads that have ended count as met
    return false;
  }
  if (threadIdx.x >= 32) return false;
  total = {};
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x < gridDim.x) total = *cooperative_groups::this_cluster().map_shared_rank(&of_block, threadIdx.x);
#endif
  total = lanes(32).sum(total);
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");  // lets the others go
#endif
  return threadIdx.x == 0;
}

/// True on thread 0 of the block that finishes last, with the grid's total there. Few blocks need one warp for that.
template <class Total>
__device__ bool grid_total(Total& total, const step_frame& frame) {
  total = block_team().sum_on_leader(total);
  if (gridDim.x == 1) return threadIdx.x == 0;
  if (frame.one_cluster) return cluster_total(total);
  auto* const partials = static_cast<Total*>(frame.partials);
  const bool few = gridDim.x <= 32;
  if (few && threadIdx.x >= 32) return false;
  bool last = false;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = total;
    last = arrive_last(frame.ticket);
  }
  if (few) {
    if (!__shfl_sync(0xffffffffu, last, 0)) return false;
    __syncwarp();
    total = lanes(32).sum(threadIdx.x < gridDim.x ? partials[threadIdx.x] : Total{});
    return threadIdx.x == 0;
  }
  if (!__syncthreads_or(last)) return false;
  total = {};
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) total += partials[block];
  total = block_team().sum_on_leader(total);
  return threadIdx.x == 0;
}

/// Blocks of a step that fit a multiprocessor at least, at the price of registers; a map that streams memory says how
/// many it wants, as `static constexpr int blocks_wanted`.
template <class Map>
constexpr int blocks_wanted() {
  if constexpr (requires { Map::blocks_wanted; }) {
    return Map::blocks_wanted;
  } else {
    return 1;
  }
}
/// A step with a finish may run as one block, or as a few large ones.
template <class Map, class Finish>
constexpr bool in_large_blocks = team_kind_of<Map>() == team_kind::block || !std::is_same_v<Finish, no_finish>;

template <class Map, class Finish>
__global__ void __launch_bounds__(in_large_blocks<Map, Finish> ? 1024 : 256,
                                  in_large_blocks<Map, Finish> ? 1 : blocks_wanted<Map>())
    step_kernel(const __grid_constant__ Map map, const __grid_constant__ Finish finish,
                const __grid_constant__ step_frame frame) {
  constexpr bool has_finish = !std::is_same_v<Finish, no_finish>;
  constexpr bool has_sums = !std::is_void_v<map_result<Map>>;
  static_assert(has_finish || !has_sums, "a step that produces sums needs a finish that receives them");
  const auto team = team_of_thread<Map>(frame);
  const auto reading_team = reading_team_of_thread<Map>(frame);
  const index_range range = indexes_of_thread<Map>(frame);
  // Whole warps read together, past the last index too; only indexes that are there are written.
  index i = range.first;
  const auto warp_has_index = [&] { return i - range.in_warp < range.n; };
  const auto fetch = [&] { return fetch_phase(map, i < range.n ? i : range.n - 1, reading_team); };
  const auto read = [&](const auto& fetched) {
    return read_phase(map, i < range.n ? i : range.n - 1, reading_team, fetched);
  };

  decltype(fetch()) fetched{};
  if (warp_has_index()) fetched = fetch();
  wait_for_previous_step();
  let_next_step_start();
  const bool running = !frame.guard || *frame.guard;
  outside_wish wish;
  if (has_finish && threadIdx.x == 0) wish = frame.links.wish();
  decltype(read(fetched)) data{};
  if (warp_has_index()) data = read(fetched);
  asm volatile("" ::: "memory");  // the reads stay above the branch, beside that of the guard
  if (!running) {
    if (has_finish && blockIdx.x == 0 && threadIdx.x == 0) frame.links.skip();
    return;
  }
  delay(frame.delay_seed, 1);

  std::conditional_t<has_sums, map_result<Map>, no_sums> total{};
  while (warp_has_index()) {
    if (i < range.n) {
      if constexpr (has_sums) {
        const auto share = write_phase(map, i, team, data);
        if (team.rank() == 0) total += share;
      } else {
        write_phase(map, i, team, data);
      }
    }
    if constexpr (team_kind_of<Map>() == team_kind::block) __syncthreads();  // shared memory passes to the next index
    i += range.stride;
    if (warp_has_index()) data = read(fetch());
  }

  delay(frame.delay_seed, 2);
  if constexpr (has_finish) {
    using finish_data = decltype(finish_read_phase(finish));
    finish_data finish_reads{};
    loop_state state;
    const auto read_for_finish = [&](auto&&... totals) {
      if (threadIdx.x != 0) return;
      if constexpr (takes_loop<Finish, finish_data, std::remove_cvref_t<decltype(totals)>...>)
        state = *frame.links.loop;
      finish_reads = finish_read_phase(finish);
    };
    const auto conclude = [&](auto&&... totals) {
      if constexpr (takes_loop<Finish, finish_data, std::remove_cvref_t<decltype(totals)>...>) {
        call_finish(finish, &state, finish_reads, totals...);
        frame.links.follow(state, wish);
      } else {
        call_finish(finish, nullptr, finish_reads, totals...);
        frame.links.follow(wish);
      }
    };
    // What the finish needs is on its way while the totals are made; only the last block will use it.
    if constexpr (has_sums) {
      read_for_finish(total);
      if (grid_total(total, frame)) conclude(total);
    } else {
      read_for_finish();
      __syncthreads();
      if (frame.one_cluster) {
        meet_cluster();
        if (blockIdx.x == 0 && threadIdx.x == 0) conclude();
      } else if (threadIdx.x == 0 && (gridDim.x == 1 || arrive_last(frame.ticket))) {
        conclude();
      }
    }
  }
}

}  // namespace whilst::detail
