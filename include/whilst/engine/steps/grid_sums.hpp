#pragma once

/// Combines the sums of a step's blocks into those of its grid. For nvcc.

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/links.hpp"
#include "whilst/engine/steps/step_frame.hpp"

namespace whilst::detail {

struct no_sums {};

/// Counts this block as done; true if it was the last. The caller that gets true sees what all blocks wrote before that
/// counted themselves so.
/// Call on thread 0, after a barrier.
__device__ inline bool arrive_last(unsigned* ticket) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(gridDim.x - 1) : "memory");
  return before == gridDim.x - 1;
}

/// The same for a block that has written nothing that the last one reads, and has read what it will overwrite. Returns
/// how many blocks arrived before it: a caller that does not look at once need not wait for the answer.
__device__ inline unsigned arrive_early(unsigned* ticket) {
  unsigned before;
  asm volatile("atom.relaxed.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(gridDim.x - 1) : "memory");
  return before;
}
/// Whether all other blocks have arrived. Waits a little for them, since a ticket of its own would take as long.
__device__ inline bool others_have_arrived(const unsigned* ticket) {
  WHILST_ROLLED
  for (int looks = 0; looks < 4; ++looks) {
    unsigned arrived;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(arrived) : "l"(ticket) : "memory");
    if (arrived == gridDim.x - 1) return true;
  }
  return false;
}

/// Waits for all threads of the cluster; afterwards each sees what the others wrote before.
__device__ inline void meet_cluster() {
  __syncwarp();
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// Waits, at an mbarrier in this block's shared memory, for the end of the phase of this parity. Acquires no more than
/// what lies in that memory.
__device__ inline void wait_in_block([[maybe_unused]] const std::uint64_t* barrier, [[maybe_unused]] unsigned parity) {
#if __CUDA_ARCH__ >= 900
  unsigned complete;
  do {
    asm volatile(
        "{\n.reg .pred done;\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\nselp.u32 %0, 1, 0, "
        "done;\n}"
        : "=r"(complete)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(parity)
        : "memory");
  } while (!complete);
#endif
}

/// For data that blocks of a cluster send to one another's shared memory: a barrier there that counts arriving bytes
/// (mbarrier, st.async), so that data and arrival signal travel together. Use once per kernel, or again and again by
/// initialize(), expect_again() and wait_for(), with parities in turn.
class arrival {
  std::uint64_t barrier_;

 public:
  /// Call on one thread of its block, before the blocks first meet.
  __device__ void expect(unsigned bytes) {
    initialize();
    expect_again(bytes);
  }
  __device__ void initialize() {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier_)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  __device__ void expect_again([[maybe_unused]] unsigned bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier_)), "r"(bytes)
                 : "memory");
#endif
  }
  __device__ void wait_for(unsigned parity) const { wait_in_block(&barrier_, parity); }
  __device__ void wait() const {
#if __CUDA_ARCH__ >= 900
    unsigned complete;
    do {
      asm volatile(
          "{\n.reg .pred done;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], 0;\nselp.u32 %0, "
          "1, 0, done;\n}"
          : "=r"(complete)
          : "r"(shared_address(&barrier_))
          : "memory");
    } while (!complete);
#endif
  }
  /// Address in block `block` of what is at `here` in this one.
  __device__ static unsigned in_block([[maybe_unused]] unsigned block, [[maybe_unused]] const void* here) {
    unsigned address = 0;
#if __CUDA_ARCH__ >= 900
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(here)), "r"(block));
#endif
    return address;
  }
  /// `signal` is in_block of that block's arrival.
  __device__ unsigned signal_in(unsigned block) const { return in_block(block, &barrier_); }
  template <class Word>
  __device__ static void send([[maybe_unused]] unsigned target, [[maybe_unused]] Word value,
                              [[maybe_unused]] unsigned signal) {
#if __CUDA_ARCH__ >= 900
    if constexpr (sizeof(Word) == 8) {
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(target),
                   "l"(std::bit_cast<std::uint64_t>(value)), "r"(signal)
                   : "memory");
    } else {
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(target),
                   "r"(std::bit_cast<std::uint32_t>(value)), "r"(signal)
                   : "memory");
    }
#endif
  }

 private:
  __device__ static unsigned shared_address(const void* generic) {
    return static_cast<unsigned>(__cvta_generic_to_shared(generic));
  }
};

/// What the first block of a small grid tells all its threads after the finish: whether the loop goes on, and what the
/// finish hands to the sequel. Each block holds one in shared memory. Anything else the finish wrote to memory is for
/// the next step.
template <class Handed>
class conclusion {
  struct alignas(alignof(Handed) < 8 ? 8 : alignof(Handed)) words {
    Handed handed;
    int running;
  };
  static constexpr unsigned count = sizeof(words) / 8;
  words told_;
  arrival arrival_;

 public:
  /// Call on all threads, before the blocks first meet.
  __device__ void announce() {
    if (blockIdx.x != 0 && threadIdx.x == 0) arrival_.expect(sizeof(words));
  }
  __device__ Handed& handed() { return told_.handed; }
  /// Call on one thread of the first block.
  __device__ void conclude(bool running) { told_.running = running; }
  /// Call on the first warp of the first block, which concluded.
  __device__ void send() const {
    static_assert(largest_cluster == 16);
    __syncwarp();
    const unsigned block = threadIdx.x % largest_cluster;
    if (block == 0 || block >= gridDim.x) return;
    const unsigned target = arrival::in_block(block, &told_), signal = arrival_.signal_in(block);
    const auto* const own = reinterpret_cast<const std::uint64_t*>(&told_);
#pragma unroll 2
    for (unsigned k = threadIdx.x / largest_cluster; k < count; k += 2) arrival::send(target + 8 * k, own[k], signal);
  }
  /// Call on all threads; returns whether the loop goes on.
  __device__ bool learn() const {
    if (blockIdx.x == 0) {
      __syncthreads();
    } else {
      arrival_.wait();
    }
    return told_.running != 0;
  }
};

/// Where the sums of a grid that is one cluster meet: in the shared memory of its first block. Sums and their arrival
/// travel together (st.async), so no block waits until its earlier writes have landed, as a ticket in global memory
/// would require; this takes a fraction of the time. In return, a finish may see the totals before what other blocks'
/// maps wrote.
template <class Total>
class cluster_mailbox {
  using word = std::conditional_t<sizeof(Total) % 8 == 0, std::uint64_t, std::uint32_t>;
  static_assert(sizeof(Total) % sizeof(word) == 0, "sums are of numbers of 4 or 8 bytes");
  alignas(16) Total of_block_[largest_cluster];
  arrival arrival_;

 public:
  /// Call on all threads of all blocks, before any calls send: a block that has not started must not be written to.
  /// Split in two halves, so that the wait is over by the time it begins.
  __device__ void announce() {
    if (blockIdx.x == 0 && threadIdx.x == 0) arrival_.expect(gridDim.x * static_cast<unsigned>(sizeof(Total)));
    __syncwarp();
#if __CUDA_ARCH__ >= 900
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
  __device__ void send(const Total& total) {
    const unsigned target = arrival::in_block(0, &of_block_[blockIdx.x]), signal = arrival_.signal_in(0);
    constexpr unsigned count = sizeof(Total) / sizeof(word);
    word words[count];
    memcpy(words, &total, sizeof(Total));
#pragma unroll
    for (unsigned k = 0; k < count; ++k) arrival::send(target + k * sizeof(word), words[k], signal);
  }
  /// Each lane of the first warp of each block sends the sums that it holds.
  template <class T, int k>
  __device__ void send(const scattered_sums<T, k>& total) {
    const unsigned target = arrival::in_block(0, &of_block_[blockIdx.x]), signal = arrival_.signal_in(0);
    total.each_once([&](int j, T sum) { arrival::send(target + static_cast<unsigned>(j * sizeof(T)), sum, signal); });
  }
  /// The first warp of the first block waits for all sums; thread 0 gets their total.
  __device__ Total receive() const {
    arrival_.wait();
    const unsigned block = threadIdx.x % largest_cluster;
    return lanes_of_whole_warp(largest_cluster).sum(block < gridDim.x ? of_block_[block] : Total{});
  }
  /// The same, scattered.
  template <class T, int k>
  __device__ void receive(scattered_sums<T, k>& total) const {
    arrival_.wait();
    total = scattered_sums<T, k>::template of_pieces<largest_cluster>(of_block_[0].value, gridDim.x);
  }
};

/// True on thread 0 of the block that finishes last, with the grid's total there. For grids of any number of blocks.
template <int most_warps, class Total>
__device__ bool total_by_ticket(Total& total, const step_frame& frame) {
  total = block_team().sum_on_leader<most_warps>(total);
  if (gridDim.x == 1) return threadIdx.x == 0;
  auto* const partials = static_cast<Total*>(frame.partials);
  // One warp will do, whose reads are all in flight at once: a whole block would have to meet twice more.
  constexpr unsigned most_of_lane = 128 / sizeof(Total) < 1 ? 1 : 128 / sizeof(Total);
  const bool few = gridDim.x <= 32 * most_of_lane;
  if (few && threadIdx.x >= 32) return false;
  bool last = false;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = total;
    last = arrive_last(frame.ticket);
  }
  if (few) {
    if (!__shfl_sync(0xffffffffu, last, 0)) return false;
    __syncwarp();
    const auto block = [](unsigned q) { return threadIdx.x + 32 * q; };
    Total read[most_of_lane];
    // Read, whether there is such a block or not: a condition becomes a branch, which waits for the reads before it.
    // Added in pairs: one chain of additions is slow.
#pragma unroll
    for (unsigned q = 0; q < most_of_lane; ++q) read[q] = partials[min(block(q), gridDim.x - 1)];
#pragma unroll
    for (unsigned q = 0; q < most_of_lane; ++q)
      if (block(q) >= gridDim.x) read[q] = {};
#pragma unroll
    for (unsigned distance = 1; distance < most_of_lane; distance *= 2)
#pragma unroll
      for (unsigned q = 0; q + distance < most_of_lane; q += 2 * distance) read[q] += read[q + distance];
    total = sums_of_warp(read[0]);
    return threadIdx.x == 0;
  }
  if (!__syncthreads_or(last)) return false;
  total = {};
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) total += partials[block];
  total = block_team().sum_on_leader<most_warps>(total);
  return threadIdx.x == 0;
}

/// The same for a small grid, on thread 0 of the first block, which calls `meanwhile` where it would only wait.
template <int most_warps, class Total, class Meanwhile>
__device__ bool total_of_small_grid(Total& total, const step_frame& frame, cluster_mailbox<Total>& mailbox,
                                    const Meanwhile& meanwhile) {
  total = block_team().sum_on_leader<most_warps>(total);
  if (gridDim.x > 1) {
    // What comes next may depend on what the map wrote, such as a branch's flag.
    if (frame.links.lead_on()) meet_cluster();
    if (threadIdx.x == 0) mailbox.send(total);
    if (blockIdx.x != 0 || threadIdx.x >= 32) return false;
    if (threadIdx.x == 0) meanwhile();
    __syncwarp();
    total = mailbox.receive();
  } else if (threadIdx.x == 0) {
    meanwhile();
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
    total = scattered::template of_pieces<32>(partials, gridDim.x);
    return true;
  }
  if (!__syncthreads_or(last)) return false;
  T* const of_warp = block_team::sums_of_warps<most_warps, T, k>();  // no longer read
  scattered::template of_pieces<32>(partials, gridDim.x, warp, blockDim.x / 32).store(of_warp + warp * k);
  __syncthreads();
  if (warp != 0) return false;
  total = scattered::template of_pieces<4>(of_warp, blockDim.x / 32);
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

}  // namespace whilst::detail
