#pragma once

/// Teams of several blocks, which a GPU runs side by side as a cluster. For nvcc, but for what runners ask of all
/// teams.

#include <cstdint>
#include <type_traits>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#if defined(__CUDACC__)
#include "whilst/engine/steps/grid_sums.hpp"
#endif
#include "whilst/engine/steps/step_frame.hpp"

namespace whilst {

/// A team of several blocks of threads. Each block has a leader and memory of its own; all blocks finish steps alike,
/// each on its own copy of the scalars and controls, so that no block waits for what another has decided. An index is
/// always worked on by the same block: see block_share. Such a team has besides what all have:
///
///   leads(), sync_block(), is_first_block()   of the calling thread's block
///   may_lead()                                true where leads() is, and the same in a whole warp
///   share()                                   which indices are its block's
///   rank_in_block(), block_size()             among the threads that have indices. A leader may have none, so that
///                                             the others wait less for it; its rank is then beyond all indices
///   meet()                                    a sync() after which each thread also sees what other blocks wrote to
///                                             global memory; sync() is for what lies in the blocks' own memory
///   agree(asked)                              what the first block asked for in the last call, in all blocks. Leaders
///                                             call it, with a sync() between two calls
///   gathered(x)                               a vector any of whose entries this block may read, after a sync()
template <class Team>
concept of_several_blocks = requires {
  requires Team::has_blocks;
};

/// Calls f(i) for each index below n that the calling thread, in a group of so many, works on.
template <class Team, class Function>
WHILST_HD void for_own_indices(const Team& team, int group, index_type n, const Function& f) {
  const block_share own = team.share();
  const int groups = team.block_size() / group;
  const int end = static_cast<int>(n - own.first < own.size() ? n - own.first : own.size());
  for (int k = team.rank_in_block() / group; k < end; k += groups) f(own.first + k);
}

#if defined(__CUDACC__)

/// Blocks of the cluster that the calling thread is in, 1 without clusters.
__device__ inline unsigned blocks_of_cluster() {
  unsigned blocks = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
#endif
  return blocks;
}

#if __CUDA_ARCH__ >= 900
#define WHILST_OF_CLUSTER "::cluster"
#else
#define WHILST_OF_CLUSTER
#endif

/// A vector split among the blocks of a cluster, in their shared memory: the entry may lie in that of another one. Read
/// what was written before the last sync() only: the compiler may move a read before later writes.
template <class T>
class spread_vector {
  unsigned own_, shift_, block_;  ///< address of this block's first entry; 2^shift entries in each block
  unsigned window_;               ///< upper half of generic addresses in the cluster's shared memory

 public:
  __device__ spread_vector(const T* x, const block_share& own, unsigned block, unsigned window)
      : own_(static_cast<unsigned>(__cvta_generic_to_shared(x + own.first))),
        shift_(own.shift < 31 ? own.shift : 31),
        block_(block),
        window_(window) {}
  __device__ T operator[](std::int32_t j) const { return entry_or_zero(j); }
  /// Where any vector spread like this one has entry j, not negative. Who knows the place reads faster: at_place.
  __device__ std::int32_t place_of(std::int32_t j) const {
    return static_cast<std::int32_t>(address_of(static_cast<unsigned>(j)) - own_);
  }
  /// The entry at a place; 0 at -1, which is none.
  __device__ T at_place(std::int32_t place) const {
    T value = 0;
    load_at(value, own_ + static_cast<unsigned>(place), window_, place);
    return value;
  }
  /// 0 where j is negative. Without branches, so that the reads of a row are in flight at once.
  __device__ T entry_or_zero(std::int32_t j) const {
    T value = 0;
    load(value, address_of(j < 0 ? 0 : static_cast<unsigned>(j)), j);
    return value;
  }

 private:
  __device__ unsigned address_of(unsigned entry) const {
    unsigned address = own_ + (entry & ((1u << shift_) - 1)) * static_cast<unsigned>(sizeof(T));
#if __CUDA_ARCH__ >= 900
    // An entry of this block needs no trip through the cluster.
    const unsigned block = entry >> shift_;
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    address = block == block_ ? address : there;
#endif
    return address;
  }
  /// Where j is not negative. Shared memory of another block is not what the compiler knows as such.
  __device__ static void load(double& value, unsigned address, std::int32_t j) {
    asm volatile("{\n.reg .pred is;\nsetp.ge.s32 is, %2, 0;\n@is ld.shared" WHILST_OF_CLUSTER ".f64 %0, [%1];\n}"
                 : "+d"(value)
                 : "r"(address), "r"(j));
  }
  __device__ static void load(float& value, unsigned address, std::int32_t j) {
    asm volatile("{\n.reg .pred is;\nsetp.ge.s32 is, %2, 0;\n@is ld.shared" WHILST_OF_CLUSTER ".f32 %0, [%1];\n}"
                 : "+f"(value)
                 : "r"(address), "r"(j));
  }
  /// With clusters, at a generic address, whose lower half is taken to be the address in the cluster's shared memory,
  /// as it is on compute capability 9.0.
  __device__ static void load_at(double& value, unsigned address, [[maybe_unused]] unsigned window,
                                 std::int32_t place) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred is;\n.reg .b64 at;\nmov.b64 at, {%1, %2};\nsetp.ne.s32 is, %3, -1;\n@is ld.f64 %0, [at];\n}"
        : "+d"(value)
        : "r"(address), "r"(window), "r"(place));
#else
    asm volatile("{\n.reg .pred is;\nsetp.ne.s32 is, %2, -1;\n@is ld.shared.f64 %0, [%1];\n}"
                 : "+d"(value)
                 : "r"(address), "r"(place));
#endif
  }
  __device__ static void load_at(float& value, unsigned address, [[maybe_unused]] unsigned window, std::int32_t place) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred is;\n.reg .b64 at;\nmov.b64 at, {%1, %2};\nsetp.ne.s32 is, %3, -1;\n@is ld.f32 %0, [at];\n}"
        : "+f"(value)
        : "r"(address), "r"(window), "r"(place));
#else
    asm volatile("{\n.reg .pred is;\nsetp.ne.s32 is, %2, -1;\n@is ld.shared.f32 %0, [%1];\n}"
                 : "+f"(value)
                 : "r"(address), "r"(place));
#endif
  }
};
#undef WHILST_OF_CLUSTER

/// The blocks of a cluster, with shares of 2^shift indices. The first warp of each leads. In blocks with an odd number
/// of warps, but for 1, it has no indices: what it does after a verdict, and before the next, takes about as long as
/// the others work on a row each.
class cluster_team {
 public:
  static constexpr bool has_blocks = true;
  using block = block_team;

  /// What the blocks of a cluster write to in one another's shared memory.
  struct mailbox {
    static constexpr int most_bytes = 64;  ///< of the sums of a step
    std::uint64_t arrived;                 ///< an mbarrier, which counts blocks
    detail::arrival sums[2];               ///< used in turns, as are those of all blocks
    reason verdict[2];                     ///< that the first block heard from outside
    alignas(16) std::byte of_blocks[2][largest_cluster * most_bytes];
    alignas(16) std::byte of_warps[threads_of_cluster_block / 32 * most_bytes];  ///< of this block alone
  };

  /// Call on all threads; ends with all blocks there.
  __device__ cluster_team(mailbox& own, int shift)
      : own_(__shfl_sync(0xffffffffu, address_of(&own), 0)),
        fast_(__shfl_sync(0xffffffffu, address_of(block_team::fast_memory()), 0)),
        shift_(shift),
        blocks_(blocks_of_cluster()) {
    // volatile, to stay in a register: nvcc would read the special register, which is slow, in each row.
    asm volatile("{\n.reg .b32 lower;\nmov.b64 {lower, %0}, %1;\n}" : "=r"(window_) : "l"(&own));
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(block_));
    if (threadIdx.x == 0) {
      own.verdict[0] = own.verdict[1] = reason::running;
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&own.arrived)), "r"(blocks_) : "memory");
      own.sums[0].initialize();
      own.sums[1].initialize();
    }
#endif
    meet();
  }
  /// All blocks wait for one another: before one leaves whose memory another may still read, and before the next team.
  __device__ void meet() const {
    __syncthreads();
#if __CUDA_ARCH__ >= 900
    if (blocks_ > 1)
      asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  }

  __device__ static bool leads() { return threadIdx.x == 0; }
  __device__ static bool may_lead() { return threadIdx.x < 32; }
  __device__ bool is_first_block() const { return block_ == 0; }
  __device__ static int rank_in_block() {
    constexpr unsigned beyond = 1u << 30;  // divided by 32 lanes, more than the rows that fit shared memory
    const unsigned without = threads_without_indices();
    return static_cast<int>(threadIdx.x < without ? beyond : threadIdx.x - without);
  }
  __device__ static int block_size() { return static_cast<int>(blockDim.x - threads_without_indices()); }
  __device__ void* fast_memory() const { return __cvta_shared_to_generic(fast_); }
  __device__ static lanes divided(int width) { return block_team::divided(width); }
  __device__ block_share share() const { return {shift_, static_cast<index_type>(block_) << shift_}; }
  template <class T>
  __device__ spread_vector<T> gathered(const T* x) const {
    return {x, share(), block_, window_};
  }

  __device__ static void sync_block() { __syncthreads(); }
  __device__ void sync() const {
    __syncthreads();
    if (blocks_ == 1) return;
    arrive();
    wait();
  }

  /// The total of all blocks, added in the same order in each; valid on the leaders. The other threads know no more
  /// than that their block is done: call sync_block() before they go on.
  template <class T, int k>
  __device__ sums<T, k> sum_on_leader(const sums<T, k>& value) const {
    static_assert(sizeof(value) <= mailbox::most_bytes);
    auto* const of_warp = reinterpret_cast<sums<T, k>*>(own().of_warps);
    const unsigned without = threads_without_indices();
    if (threadIdx.x >= without) {
      const sums<T, k> of_own = sums_of_warp(value);
      if ((threadIdx.x & 31) == 0) of_warp[(threadIdx.x - without) / 32] = of_own;
    }
    __syncthreads();
    if (threadIdx.x >= 32) return value;
    const sums<T, k> total = sum_of_parts(of_warp, (blockDim.x - without) / 32);
    if (blocks_ == 1) return total;
    const unsigned lane = threadIdx.x, odd = sums_ & 1, parity = sums_ >> 1 & 1;
    ++sums_;
    detail::arrival& of_all = own().sums[odd];
    auto* const of_block = reinterpret_cast<sums<T, k>*>(own().of_blocks[odd]);
    if (lane == 0) of_all.expect_again(blocks_ * static_cast<unsigned>(sizeof(total)));
    if (lane < blocks_) {
      const unsigned target = detail::arrival::in_block(lane, of_block + block_), signal = of_all.signal_in(lane);
#pragma unroll
      for (unsigned j = 0; j < k; ++j) detail::arrival::send(target + j * sizeof(T), total.value[j], signal);
    }
    of_all.wait_for(parity);
    return sum_of_parts(of_block, blocks_);
  }

  /// A verdict from outside takes effect in all blocks a call later, when they all know it.
  __device__ reason agree(reason asked) const {
    if (blocks_ == 1) return asked;
    const int now = calls_++ & 1;
    if (block_ == 0 && asked != reason::running) {
      for (unsigned block = 0; block < blocks_; ++block) *in_block(&own().verdict[now], block) = asked;
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.acq_rel.cluster;" ::: "memory");  // there before the next meeting
#endif
    }
    return *static_cast<volatile reason*>(&own().verdict[1 - now]);
  }

 private:
  static __device__ unsigned threads_without_indices() { return blockDim.x > 32 ? blockDim.x & 32 : 0; }
  /// Of up to 16 in shared memory, on the whole warp that calls it. The additions are those of block_team and of lanes:
  /// each lane does all but the last level of their tree itself, since an exchange takes longer than a read.
  template <class T, int k>
  static __device__ sums<T, k> sum_of_parts(const sums<T, k>* parts, unsigned count) {
    static_assert(largest_cluster <= 16 && threads_of_cluster_block <= 16 * 32);
    const unsigned first = threadIdx.x & 1;
    sums<T, k> total;
#pragma unroll
    for (int i = 0; i < k; ++i) {
      T part[8];
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) part[j] = first + 2 * j < count ? parts[first + 2 * j].value[i] : T(0);
      total.value[i] = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    }
    // All exchanges after all reads: ptxas moves no read past one, and lets those behind it wait for one another.
    detail::add_across_lanes(total.value, 2, 0xffffffffu);
    return total;
  }
  __device__ mailbox& own() const { return *static_cast<mailbox*>(__cvta_shared_to_generic(own_)); }
  static __device__ unsigned address_of(const void* here) {
    return static_cast<unsigned>(__cvta_generic_to_shared(here));
  }
  template <class T>
  static __device__ T* in_block(T* here, [[maybe_unused]] unsigned block) {
#if __CUDA_ARCH__ >= 900
    return static_cast<T*>(__cluster_map_shared_rank(here, block));
#else
    return here;
#endif
  }
  /// Each block tells all, by its first warp, after a barrier of the block: what its threads wrote is in its shared
  /// memory then, where the others find it. PTX promises that for a release to the whole cluster only, which would wait
  /// for global memory, too; this relies on shared memory being in one place.
  __device__ void arrive() const {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x >= blocks_) return;
    const unsigned target = detail::arrival::in_block(threadIdx.x, &own().arrived);
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(target) : "memory");
#endif
  }
  /// Until all blocks have arrived. No cache holds copies of shared memory; an acquire for the whole cluster would have
  /// this multiprocessor forget the matrix.
  __device__ void wait() const {
    detail::wait_in_block(&own().arrived, phase_ & 1);
    ++phase_;
  }

  /// Addresses of the mailbox and of the block's fast memory, got by an exchange, so that they stay in registers: nvcc
  /// would make them from a special register, which is slow, each time that all wait for what is there.
  unsigned own_, fast_;
  int shift_;
  unsigned blocks_, block_ = 0, window_;  ///< the last: see spread_vector
  mutable unsigned phase_ = 0, sums_ = 0, calls_ = 0;
};
#endif

}  // namespace whilst
