#pragma once

/// One step: what it is to a program, and the kernel and the host loop that run it.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__CUDACC__)
#include <cooperative_groups.h>
#endif

#include "kernels/launch/cuda.hpp"
#include "kernels/launch/links.hpp"
#include "whilst/index.hpp"
#include "whilst/teams.hpp"
#include "whilst/views.hpp"

namespace whilst {

/// The finish of a step that has none.
struct no_finish {};

namespace detail {

/// The map of a step that is only a finish.
struct no_map {
  WHILST_HD void operator()(index) const {}
};

/// What a map wants for one index: nothing but the index, a group of lanes, or a whole block.
enum class team_kind { none, lanes, block };

template <class Map>
constexpr team_kind team_kind_of() {
  if constexpr (requires { Map::whole_block; }) {
    return team_kind::block;
  } else if constexpr (requires(const Map& map) { map.lanes_wanted(); }) {
    return team_kind::lanes;
  } else {
    return team_kind::none;
  }
}

/// What a map without a phase of its own hands from it to the next.
struct nothing_read {};

/// The three phases of a map at one index; only the last one must be there.
///
///   fetch(i, team)           reads, while the step before is still running, what that step does not write: a matrix,
///                            or, by read_early, what older steps wrote
///   read(i, team, fetched)   reads anything, writes nothing: before it is known whether the loop has stopped. Whole
///                            warps fetch and read together, so sums over a team cost least here
///   operator()               computes and writes; takes i, then the team if the map asked for one, then what was read
///
/// Reads that wait for one another are what a small step's time is made of. A map that is just operator()(i) is right,
/// and as fast as can be where memory bandwidth decides.
template <class Map, class Team>
WHILST_HD auto fetch_phase([[maybe_unused]] const Map& map, [[maybe_unused]] index i,
                           [[maybe_unused]] const Team& team) {
  if constexpr (requires { map.fetch(i, team); }) {
    return map.fetch(i, team);
  } else {
    return nothing_read{};
  }
}
template <class Map, class Team, class Fetched>
WHILST_HD auto read_phase([[maybe_unused]] const Map& map, [[maybe_unused]] index i, [[maybe_unused]] const Team& team,
                          const Fetched& fetched) {
  if constexpr (requires { map.read(i, team, fetched); }) {
    return map.read(i, team, fetched);
  } else if constexpr (requires { map.read(i); }) {
    return map.read(i);
  } else {
    return fetched;
  }
}
template <class Map, class Team, class Data>
WHILST_HD auto write_phase(const Map& map, index i, [[maybe_unused]] const Team& team,
                           [[maybe_unused]] const Data& data) {
  constexpr bool has_data = !std::is_same_v<Data, nothing_read>;
  if constexpr (team_kind_of<Map>() == team_kind::none) {
    if constexpr (has_data) {
      return map(i, data);
    } else {
      return map(i);
    }
  } else {
    if constexpr (has_data) {
      return map(i, team, data);
    } else {
      return map(i, team);
    }
  }
}
template <class Map, class Team>
WHILST_HD auto apply_map(const Map& map, index i, const Team& team) {
  return write_phase(map, i, team, read_phase(map, i, team, fetch_phase(map, i, team)));
}

/// A finish is called as finish(totals...), or finish(totals..., loop) with the state of the loop that it is in; and if
/// it has read(), which reads what it needs while the totals are being made, with that as its last argument.
template <class Finish>
WHILST_HD auto finish_read_phase([[maybe_unused]] const Finish& finish) {
  if constexpr (requires { finish.read(); }) {
    return finish.read();
  } else {
    return nothing_read{};
  }
}
template <class Finish, class Data, class... Total>
constexpr bool takes_loop = std::is_invocable_v<const Finish&, const Total&..., loop_state&> ||
                            std::is_invocable_v<const Finish&, const Total&..., loop_state&, const Data&>;
template <class Finish, class Data, class... Total>
WHILST_HD void call_finish(const Finish& finish, [[maybe_unused]] loop_state* loop, [[maybe_unused]] const Data& data,
                           const Total&... total) {
  constexpr bool has_data = !std::is_same_v<Data, nothing_read>;
  if constexpr (takes_loop<Finish, Data, Total...>) {
    if constexpr (has_data) {
      finish(total..., *loop, data);
    } else {
      finish(total..., *loop);
    }
  } else if constexpr (has_data) {
    finish(total..., data);
  } else {
    finish(total...);
  }
}

/// sums<T, k>, or void for a map that produces none.
template <class Map>
using map_result = decltype(apply_map(std::declval<const Map&>(), index{}, lanes{}));

/// The lanes that a map asks for an index; 1 where it does not say.
template <class Map>
WHILST_HD int lanes_wanted(const Map& map) {
  if constexpr (requires { map.lanes_wanted(); }) {
    return map.lanes_wanted();
  } else {
    return 1;
  }
}

/// Indexes a host thread takes at a time. Fixed, so that totals do not depend on the number of threads.
constexpr index host_chunk = 2048;

/// The same for the maps of each kind: an index of a block or of a whole problem is much work by itself.
template <class Map>
constexpr bool takes_problems = team_kind_of<Map>() == team_kind::block || requires {
  Map::whole_problem;
};
template <class Map>
constexpr index host_chunk_of = takes_problems<Map>                       ? 1
                                : team_kind_of<Map>() == team_kind::lanes ? 512
                                                                          : host_chunk;
/// Fewer chunks than this are not worth waking threads for.
template <class Map>
constexpr index parallel_chunks = takes_problems<Map> ? 2 : 8;

}  // namespace detail

/// How a step is laid out on a GPU and what belongs to it there; fixed when it is recorded.
struct step_frame {
  index n = 0;
  int lanes = 1;
  void* partials = nullptr;    ///< one entry a block, for the totals
  unsigned* ticket = nullptr;  ///< counts blocks that are done; returns to 0 by itself
  const int* guard = nullptr;  ///< the running flag that the step obeys; null outside loops
  bool one_cluster = false;    ///< the grid is one cluster of blocks
  unsigned delay_seed = 0;     ///< not 0: blocks wait a random while, for tests of the ordering between steps
  step_links links;
};

/// Launch geometry and attributes of a step.
struct launch_shape {
  unsigned blocks = 1;
  unsigned threads = 1;
  bool one_cluster = false;
  std::size_t fast_memory_bytes = 0;
};

/// Blocks in a cluster: as many as every device with clusters allows.
inline constexpr int largest_cluster = 8;

/// Threads of a step with a finish that one block does alone.
inline constexpr index threads_alone = 512;

/// Limits and habits of a device that decide a launch shape.
struct device_traits {
  int device = 0;
  int multiprocessors = 1;
  int compute_capability = 0;  ///< 90 for 9.0
  std::size_t fast_memory_bytes = 0;
};
const device_traits& traits_of_device(int device);

/// A step as a program holds it: a name, a count, and how to run it.
class recorded_step {
 public:
  virtual ~recorded_step() = default;
  recorded_step(const recorded_step&) = delete;
  recorded_step& operator=(const recorded_step&) = delete;

  const std::string& name() const { return name_; }
  index count() const { return n_; }
  virtual bool has_finish() const = 0;
  /// Runs the step and its finish, not its links. `loop` is that of the step; null at the top.
  virtual void run_on_host(loop_state* loop) = 0;
#if WHILST_WITH_CUDA
  /// Bytes of one block's partial sums; 0 for none.
  virtual std::size_t partial_bytes() const = 0;
  virtual launch_shape shape(const device_traits& device) const = 0;
  /// Whether the code that would run was compiled for devices of 9.0: it waits for the step before it, as overlapping
  /// launches demand, and knows clusters.
  virtual bool waits_for_previous(const device_traits& device) const = 0;
  virtual void launch(cudaStream_t stream, const launch_shape& shape, const step_frame& frame, bool overlap) const = 0;
#endif

 protected:
  recorded_step(std::string name, index n) : name_(std::move(name)), n_(n) {}
  std::string name_;
  index n_;
};

#if defined(__CUDACC__)
namespace detail {

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

}  // namespace detail
#endif

/// A step made of a map and, perhaps, a finish.
template <class Map, class Finish>
class map_step final : public recorded_step {
  static constexpr bool has_sums = !std::is_void_v<detail::map_result<Map>>;
  static constexpr detail::team_kind kind = detail::team_kind_of<Map>();
  using finish_data = decltype(detail::finish_read_phase(std::declval<const Finish&>()));

 public:
  static constexpr bool takes_loop = [] {
    if constexpr (has_sums) {
      return detail::takes_loop<Finish, finish_data, detail::map_result<Map>>;
    } else {
      return detail::takes_loop<Finish, finish_data>;
    }
  }();
  map_step(std::string name, index n, const Map& map, const Finish& finish)
      : recorded_step(std::move(name), n), map_(map), finish_(finish) {
    static_assert(std::is_trivially_copyable_v<Map> && std::is_trivially_copyable_v<Finish>,
                  "maps and finishes are copied to the device byte by byte: hold pointers and numbers in them");
    if constexpr (has_sums) partials_.resize(static_cast<std::size_t>(std::max<index>(chunks(), 1)));
  }

  bool has_finish() const override { return !std::is_same_v<Finish, no_finish>; }

  void run_on_host([[maybe_unused]] loop_state* loop) override {
    const index last = chunks();
#if defined(_OPENMP)
#pragma omp parallel for schedule(static) if (last >= detail::parallel_chunks <Map>)
#endif
    for (index chunk = 0; chunk < last; ++chunk) {
      const index begin = chunk * detail::host_chunk_of<Map>;
      const index end = std::min(n_, begin + detail::host_chunk_of<Map>);
      if constexpr (has_sums) {
        detail::map_result<Map> total{};
        for (index i = begin; i < end; ++i) total += detail::apply_map(map_, i, lanes());
        partials_[static_cast<std::size_t>(chunk)] = total;
      } else {
        for (index i = begin; i < end; ++i) detail::apply_map(map_, i, lanes());
      }
    }
    if constexpr (has_sums) {
      detail::map_result<Map> total{};
      for (index chunk = 0; chunk < last; ++chunk) total += partials_[static_cast<std::size_t>(chunk)];
      detail::call_finish(finish_, loop, detail::finish_read_phase(finish_), total);
    } else if constexpr (!std::is_same_v<Finish, no_finish>) {
      detail::call_finish(finish_, loop, detail::finish_read_phase(finish_));
    }
  }

#if WHILST_WITH_CUDA
  std::size_t partial_bytes() const override {
    if constexpr (has_sums) return sizeof(detail::map_result<Map>);
    return 0;
  }
  launch_shape shape(const device_traits& device) const override;
  bool waits_for_previous(const device_traits& device) const override;
  void launch(cudaStream_t stream, const launch_shape& shape, const step_frame& frame, bool overlap) const override;
#endif

 private:
  index chunks() const { return (n_ + detail::host_chunk_of<Map> - 1) / detail::host_chunk_of<Map>; }

  struct nothing {};
  Map map_;
  Finish finish_;
  // Partial sums of the host's chunks: allocated when recorded, not in the loop.
  std::conditional_t<has_sums, std::vector<std::conditional_t<has_sums, detail::map_result<Map>, nothing>>, nothing>
      partials_;
};

#if WHILST_WITH_CUDA
#if defined(__CUDACC__)

template <class Map, class Finish>
launch_shape map_step<Map, Finish>::shape(const device_traits& device) const {
  launch_shape shape;
  auto* kernel = &detail::step_kernel<Map, Finish>;
  if constexpr (kind == detail::team_kind::block) {
    cudaFuncAttributes attributes{};
    WHILST_CUDA("asking for the limits of step '" + name_ + "'", cudaFuncGetAttributes(&attributes, kernel));
    // A method that is one kernel may need more registers than a full block leaves each thread.
    shape.threads = static_cast<unsigned>(std::min(map_.threads_wanted(), attributes.maxThreadsPerBlock) / 32 * 32);
    shape.blocks = static_cast<unsigned>(std::clamp<index>(n_, 1, 65535));
    if constexpr (requires { map_.fast_memory_bytes(); }) {
      shape.fast_memory_bytes = static_cast<std::size_t>(map_.fast_memory_bytes());
      const int most = static_cast<int>(device.fast_memory_bytes - attributes.sharedSizeBytes);
      WHILST_CUDA("raising the shared memory limit of step '" + name_ + "'",
                  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    }
    return shape;
  }
  const index threads_wanted = n_ * detail::lanes_wanted(map_);
  const auto whole_warps = [](index threads) {
    return static_cast<unsigned>(std::max<index>((threads + 31) / 32, 1) * 32);
  };
  if constexpr (!std::is_same_v<Finish, no_finish>) {
    // Blocks that need not meet in global memory finish a microsecond earlier.
    if (threads_wanted <= threads_alone) {
      shape.threads = whole_warps(threads_wanted);
      return shape;
    }
    if (threads_wanted <= largest_cluster * 1024 && waits_for_previous(device)) {
      shape.blocks = largest_cluster;
      shape.threads = whole_warps((threads_wanted + largest_cluster - 1) / largest_cluster);
      shape.one_cluster = true;
      return shape;
    }
  }
  shape.threads = std::min(whole_warps(threads_wanted), 256u);
  int resident_blocks = 1;
  WHILST_CUDA(
      "asking how many blocks of step '" + name_ + "' fit a multiprocessor",
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident_blocks, kernel, static_cast<int>(shape.threads), 0));
  const index blocks_wanted = (threads_wanted + shape.threads - 1) / shape.threads;
  shape.blocks = static_cast<unsigned>(
      std::clamp<index>(blocks_wanted, 1, static_cast<index>(resident_blocks) * device.multiprocessors));
  return shape;
}

template <class Map, class Finish>
bool map_step<Map, Finish>::waits_for_previous(const device_traits& device) const {
  if (device.compute_capability < 90) return false;
  cudaFuncAttributes attributes{};
  WHILST_CUDA("asking for the code version of step '" + name_ + "'",
              cudaFuncGetAttributes(&attributes, detail::step_kernel<Map, Finish>));
  return attributes.ptxVersion >= 90;
}

template <class Map, class Finish>
void map_step<Map, Finish>::launch(cudaStream_t stream, const launch_shape& shape, const step_frame& frame,
                                   bool overlap) const {
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (overlap) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.one_cluster) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = shape.blocks;
    attributes[count].val.clusterDim.y = 1;
    attributes[count++].val.clusterDim.z = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.fast_memory_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  step_frame filled = frame;
  filled.n = n_;
  filled.lanes = detail::lanes_wanted(map_);
  filled.one_cluster = shape.one_cluster;
  WHILST_CUDA("launching step '" + name_ + "'",
              cudaLaunchKernelEx(&config, detail::step_kernel<Map, Finish>, map_, finish_, filled));
}

#else  // a CUDA build, but this file is not compiled by nvcc

namespace detail {
[[noreturn]] inline void not_compiled_for_gpu(const std::string& name) {
  throw error("recording step '" + name + "' for a GPU", "its source file was not compiled by nvcc",
              "compile files that define steps as CUDA, or record them on the host");
}
}  // namespace detail
template <class Map, class Finish>
launch_shape map_step<Map, Finish>::shape(const device_traits&) const {
  detail::not_compiled_for_gpu(name_);
}
template <class Map, class Finish>
bool map_step<Map, Finish>::waits_for_previous(const device_traits&) const {
  detail::not_compiled_for_gpu(name_);
}
template <class Map, class Finish>
void map_step<Map, Finish>::launch(cudaStream_t, const launch_shape&, const step_frame&, bool) const {
  detail::not_compiled_for_gpu(name_);
}

#endif
#endif

}  // namespace whilst
