#pragma once

/// The kernel that runs a step: its indexes, its sums over the grid, its finish and its links. For nvcc.

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cooperative_groups.h>

#include "kernels/launch/links.hpp"
#include "kernels/launch/phases.hpp"
#include "kernels/launch/step_frame.hpp"
#include "whilst/teams.hpp"

namespace whilst::detail {

/// Every thread of every step calls this before it reads anything that the step before may write: with overlapping
/// launches that one may still be running.
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
  __syncwarp();
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// Where the sums of a grid that is one cluster meet: in the shared memory of its first block. Sums and their arrival
/// travel together (st.async), so nobody waits until all that was written before has landed, as for a ticket in global
/// memory; that takes a fraction of the time. In turn a finish may see the totals before what other blocks' maps wrote.
template <class Total>
class cluster_mailbox {
  using word = std::conditional_t<sizeof(Total) % 8 == 0, std::uint64_t, std::uint32_t>;
  static_assert(sizeof(Total) % sizeof(word) == 0, "sums are of numbers of 4 or 8 bytes");
  alignas(16) Total of_block_[largest_cluster];
  std::uint64_t arrivals_;

 public:
  /// By all threads of all blocks, before anyone calls send: nobody may write to the memory of a block that has not
  /// begun. Two halves, so that the wait is over when it begins.
  __device__ void announce() {
#if __CUDA_ARCH__ >= 900
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      const unsigned bytes = gridDim.x * static_cast<unsigned>(sizeof(Total));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&arrivals_)) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&arrivals_)),
                   "r"(bytes)
                   : "memory");
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
  }
  __device__ void open() {
    __syncwarp();
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  }
  /// Thread 0 of each block sends its block's sum.
  __device__ void send([[maybe_unused]] const Total& total) {
#if __CUDA_ARCH__ >= 900
    unsigned target, signal;
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(target) : "r"(shared_address(&of_block_[blockIdx.x])));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(signal) : "r"(shared_address(&arrivals_)));
    constexpr unsigned count = sizeof(Total) / sizeof(word);
    word words[count];
    memcpy(words, &total, sizeof(Total));
#pragma unroll
    for (unsigned k = 0; k < count; ++k) send_word(target + k * sizeof(word), words[k], signal);
#endif
  }
  /// Each lane of the first warp of each block sends the sums that it has.
  template <class T, int k>
  __device__ void send([[maybe_unused]] const scattered_sums<T, k>& total) {
#if __CUDA_ARCH__ >= 900
    unsigned target, signal;
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(target) : "r"(shared_address(&of_block_[blockIdx.x])));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(signal) : "r"(shared_address(&arrivals_)));
    total.each_once([&](int j, T sum) {
      using word_of_sum = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
      send_word(target + static_cast<unsigned>(j * sizeof(T)), std::bit_cast<word_of_sum>(sum), signal);
    });
#endif
  }
  /// The first warp of the first block waits for all sums; their total is thread 0's.
  __device__ Total receive() const {
    wait_for_all();
    const unsigned block = threadIdx.x % largest_cluster;
    return lanes_of_whole_warp(largest_cluster).sum(block < gridDim.x ? of_block_[block] : Total{});
  }
  /// The same, scattered.
  template <class T, int k>
  __device__ void receive(scattered_sums<T, k>& total) const {
    wait_for_all();
    total = scattered_sums<T, k>::of_pieces(of_block_[0].value, gridDim.x);
  }

 private:
  __device__ void wait_for_all() const {
#if __CUDA_ARCH__ >= 900
    unsigned complete;
    do {
      asm volatile(
          "{\n.reg .pred done;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], 0;\nselp.u32 %0, "
          "1, 0, done;\n}"
          : "=r"(complete)
          : "r"(shared_address(&arrivals_))
          : "memory");
    } while (!complete);
#endif
  }
  __device__ static unsigned shared_address(const void* generic) {
    return static_cast<unsigned>(__cvta_generic_to_shared(generic));
  }
#if __CUDA_ARCH__ >= 900
  __device__ static void send_word(unsigned target, std::uint64_t value, unsigned signal) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(target),
                 "l"(value), "r"(signal)
                 : "memory");
  }
  __device__ static void send_word(unsigned target, std::uint32_t value, unsigned signal) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(target),
                 "r"(value), "r"(signal)
                 : "memory");
  }
#endif
};

/// True on thread 0 of the block that finishes last, with the grid's total there. For grids of any number of blocks.
template <class Total>
__device__ bool total_by_ticket(Total& total, const step_frame& frame) {
  total = block_team().sum_on_leader(total);
  if (gridDim.x == 1) return threadIdx.x == 0;
  auto* const partials = static_cast<Total*>(frame.partials);
  const bool few = gridDim.x <= 32;  // one warp will do
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

/// The same for a small grid, on thread 0 of the first block.
template <class Total>
__device__ bool total_of_small_grid(Total& total, const step_frame& frame, cluster_mailbox<Total>& mailbox) {
  total = block_team().sum_on_leader(total);
  if (gridDim.x > 1) {
    // What comes next may be decided by what the map wrote, a branch's flag, say.
    if (frame.links.lead_on()) meet_cluster();
    if (threadIdx.x == 0) mailbox.send(total);
    if (blockIdx.x != 0 || threadIdx.x >= 32) return false;
    __syncwarp();
    total = mailbox.receive();
  }
  return threadIdx.x == 0;
}

/// For a finish by a whole warp: true on the first warp of the block that finishes last, with the grid's total there.
template <int most_warps, class T, int k>
__device__ bool total_by_ticket(const sums<T, k>& value, scattered_sums<T, k>& total, const step_frame& frame) {
  using scattered = scattered_sums<T, k>;
  total = block_team().template sum_scattered<most_warps>(value);
  const unsigned warp = threadIdx.x / 32;
  if (gridDim.x == 1) return warp == 0;
  auto* const partials = static_cast<T*>(frame.partials);
  const bool few = gridDim.x <= 32;  // one warp will do
  if (few && warp != 0) return false;
  bool last = false;
  if (warp == 0) {
    total.store(partials + blockIdx.x * k);
    __syncwarp();
    if (threadIdx.x == 0) last = arrive_last(frame.ticket);
  }
  if (few) {
    if (!__shfl_sync(0xffffffffu, last, 0)) return false;
    __syncwarp();
    total = scattered::of_pieces(partials, gridDim.x);
    return true;
  }
  if (!__syncthreads_or(last)) return false;
  T* const of_warp = block_team::sums_of_warps<most_warps, T, k>();  // nobody reads them any more
  scattered::of_pieces(partials, gridDim.x, warp, blockDim.x / 32).store(of_warp + warp * k);
  __syncthreads();
  if (warp != 0) return false;
  total = scattered::of_pieces(of_warp, blockDim.x / 32);
  return true;
}

/// The same for a small grid, on the first warp of the first block.
template <int most_warps, class T, int k>
__device__ bool total_of_small_grid(const sums<T, k>& value, scattered_sums<T, k>& total, const step_frame& frame,
                                    cluster_mailbox<sums<T, k>>& mailbox) {
  total = block_team().template sum_scattered<most_warps>(value);
  if (gridDim.x > 1) {
    if (frame.links.lead_on()) meet_cluster();
    if (threadIdx.x >= 32) return false;
    mailbox.send(total);
    if (blockIdx.x != 0) return false;
    __syncwarp();
    mailbox.receive(total);
  }
  return threadIdx.x < 32;
}

/// What the finish and the links read of the loops' controls, on its way to shared memory while the sums are made: in
/// registers there is no room for it. For thread 0, like all that it does.
class controls_ahead {
  alignas(16) loop_state state_;
  alignas(16) outside_wish wish_;

 public:
  __device__ void start(const loop_state* state, const outside_wish* wish) {
    if (state) copy(&state_, state);
    if (wish) copy(&wish_, wish);
  }
  /// Before the others are called, and before the thread ends.
  __device__ void wait() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  }
  __device__ const loop_state& state() const { return state_; }
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

/// Copies for a finish by a whole warp, which makes them together; they go with the controls' and are waited for with
/// them.
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
/// Most threads of a block.
template <class Map, bool small>
constexpr int most_threads() {
  return small ? threads_alone : team_kind_of<Map>() == team_kind::block ? 1024 : 256;
}

/// A small grid is one block or one cluster of a step with a finish: its sums meet in shared memory, and it has
/// registers to spare, so that all it needs from memory is on its way at once.
template <class Map, class Finish, bool small>
__global__ void __launch_bounds__(most_threads<Map, small>(), small ? 1 : blocks_wanted<Map>())
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
  std::conditional_t<has_sums, map_result<Map>, no_sums> total{};
  using finish_data = decltype(finish_read_phase(finish));
  constexpr bool finish_takes_loop = [] {
    if constexpr (has_sums) {
      return takes_loop<Finish, finish_data, map_result<Map>>;
    } else {
      return takes_loop<Finish, finish_data>;
    }
  }();
  [[maybe_unused]] __shared__ std::conditional_t<has_finish, controls_ahead, no_sums> controls;
  constexpr bool may_send = small && has_sums;
  [[maybe_unused]] __shared__ std::conditional_t<may_send, cluster_mailbox<decltype(total)>, no_sums> mailbox;
  [[maybe_unused]] finish_data finish_reads{};
  constexpr int leaders = by_warp<Finish> ? 32 : 1;
  using copied = typename copied_by<Finish>::type;
  [[maybe_unused]] __shared__ __align__(16) std::byte copies_memory[sizeof(copied)];
  [[maybe_unused]] auto& copies = *reinterpret_cast<copied*>(copies_memory);
  const auto read_for_finish = [&] {
    if constexpr (has_finish) {
      if constexpr (by_warp<Finish>) {
        if (threadIdx.x < leaders) finish.copy_ahead(copies, copy_by_warp());
      }
      if (threadIdx.x != 0) return;
      controls.start(finish_takes_loop ? frame.links.loop : nullptr, frame.links.wish_at());
      finish_reads = finish_read_phase(finish);
    }
  };

  if constexpr (may_send) {
    if (gridDim.x > 1) mailbox.announce();
  }
  decltype(fetch()) fetched{};
  if (warp_has_index()) fetched = fetch();
  if constexpr (may_send) {
    if (gridDim.x > 1) mailbox.open();
  }
  wait_for_previous_step();
  let_next_step_start();
  // All these reads are under way before the first is waited for: one trip to memory, not three.
  int running = frame.guard ? read_early(frame.guard) : 1;
  if (small) read_for_finish();
  decltype(read(fetched)) data{};
  if (warp_has_index()) data = read(fetched);
  asm volatile("" : "+r"(running)::"memory");  // looked at here, not sooner
  if (!running) {
    if constexpr (has_finish) {
      if (small && threadIdx.x < leaders) controls.wait();
      if (blockIdx.x == 0 && threadIdx.x == 0) frame.links.skip();
    }
    return;
  }
  delay(frame.delay_seed, 1);

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
    if (!small) read_for_finish();
    const auto conclude = [&](const auto&... totals) {
      const outside_wish wish = frame.links.counts_trip ? controls.wish() : outside_wish{};
      if constexpr (by_warp<Finish>) {
        loop_state state = controls.state();
        finish(whole_warp(), totals..., state, copies);
        __syncwarp();
        if (threadIdx.x == 0) frame.links.follow(state, wish);
      } else if constexpr (finish_takes_loop) {
        loop_state state = controls.state();
        call_finish(finish, &state, finish_reads, totals...);
        frame.links.follow(state, wish);
      } else {
        call_finish(finish, nullptr, finish_reads, totals...);
        frame.links.follow(wish);
      }
    };
    static_assert(has_sums || leaders == 1, "a finish by a whole warp receives sums");
    bool concludes;
    if constexpr (by_warp<Finish>) {
      constexpr int most_warps = most_threads<Map, small>() / 32;
      constexpr std::size_t shared_limit = 48 * 1024, pieces = most_warps + (may_send ? largest_cluster : 0) + 1;
      static_assert(pieces * sizeof(total) + sizeof(copied) + sizeof(controls_ahead) + 64 <= shared_limit,
                    "a step has more sums than shared memory has room for");
      decltype(block_team().template sum_scattered<most_warps>(total)) scattered;
      if constexpr (small) {
        concludes = total_of_small_grid<most_warps>(total, scattered, frame, mailbox);
      } else {
        concludes = total_by_ticket<most_warps>(total, scattered, frame);
      }
      if (threadIdx.x < leaders) controls.wait();
      if (!concludes) return;
      __shared__ map_result<Map> of_grid;
      scattered.store(of_grid.value);
      __syncwarp();
      conclude(of_grid);
      return;
    } else if constexpr (may_send) {
      concludes = total_of_small_grid(total, frame, mailbox);
    } else if constexpr (has_sums) {
      concludes = total_by_ticket(total, frame);
    } else if constexpr (small) {
      gridDim.x > 1 ? meet_cluster() : __syncthreads();
      concludes = blockIdx.x == 0 && threadIdx.x == 0;
    } else {
      __syncthreads();
      concludes = threadIdx.x == 0 && (gridDim.x == 1 || arrive_last(frame.ticket));
    }
    if (threadIdx.x == 0) controls.wait();
    if constexpr (has_sums) {
      if (concludes) conclude(total);
    } else {
      if (concludes) conclude();
    }
  }
}

}  // namespace whilst::detail
