#pragma once

/// One step: what it is to a program, and the host loop that runs it; step_kernel.hpp has the kernel.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "whilst/engine/control/links.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/steps/host_threads.hpp"
#include "whilst/engine/steps/phases.hpp"
#include "whilst/engine/steps/step_frame.hpp"
#if defined(__CUDACC__)
#include "whilst/engine/steps/split_step_kernels.hpp"
#include "whilst/engine/steps/step_kernel.hpp"
#endif
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

#if WHILST_WITH_CUDA
/// Receives a kernel and the addresses of its arguments, valid during the call.
using kernel_user = std::function<void(const void* kernel, void** arguments)>;
#endif

/// What the type of a step says of it.
struct step_facts {
  bool has_finish = false;
  /// Whether the next step is this one's sequel, which the kernel of its finish also runs unless the grid is large.
  bool has_sequel = false;
  /// Whether what it reads ahead, if anything, is never written by a step.
  bool fetches_only_constants = false;
  /// Whether it has a read_own, which its kernel may call while the step before it still runs.
  bool reads_own_ahead = false;
  /// Bytes of the sums of one block or chunk; 0 for none.
  std::size_t bytes_of_sums = 0;
};

/// A step as a program holds it: a name, a count, and how to run it. What depends on no type is compiled once, in
/// kernels/engine/steps/recorded_step.cpp.
class recorded_step {
 public:
  virtual ~recorded_step();
  recorded_step(const recorded_step&) = delete;
  recorded_step& operator=(const recorded_step&) = delete;

  const std::string& name() const { return name_; }
  index_type count() const { return n_; }
  const step_facts& facts() const { return facts_; }
  /// Bytes that a run of the step moves between memory and the processor, if its map tells.
  virtual std::optional<index_type> bytes() const = 0;
  /// Host memory that the step holds for its sums.
  std::size_t host_bytes() const { return sums_.capacity(); }
  /// Runs the step and its finish, not its links. `loop` is that of the step; null at the top. `threads` and
  /// exceptions: see run_on_threads.
  virtual void run_on_host(loop_state* loop, int threads) = 0;
#if WHILST_WITH_CUDA
  virtual launch_shape shape(const device_traits& device) const = 0;
  /// Whether the code of this shape's kernel was compiled for compute capability 9.0: it waits for the previous step,
  /// as overlapping launches require, and supports clusters.
  bool waits_for_previous(const device_traits& device, const launch_shape& shape) const;
  /// Loads this shape's kernel, so that no launch has to wait for that.
  void load(const device_traits& device, const launch_shape& shape) const;
  /// Calls `use` with the kernel for this shape and its arguments, including map and finish.
  virtual void with_kernel(const launch_shape& shape, const step_frame& frame, const kernel_user& use) const = 0;
  void launch(cudaStream_t stream, const launch_shape& shape, const step_frame& frame, bool overlap) const;
  /// Gives the node of an earlier launch, in an instantiated graph, the current arguments. Its attributes and edges
  /// stay.
  void set_node(cudaGraphExec_t exec, cudaGraphNode_t node, const launch_shape& shape, const step_frame& frame) const;
#endif

 protected:
  recorded_step(const char* name, const step_facts& facts);
  /// Sets the count. Throws whilst::error, and changes nothing, if it is negative, if its sums are beyond any memory,
  /// or if no warp can be divided into that many lanes. Room for the sums of the host's chunks is made here, not in the
  /// loop.
  void set_count(index_type n, int lanes, index_type chunk);
  /// Runs each chunk of so many indices, on threads.
  void run_chunks(index_type chunk, int threads, index_type least_a_thread);
  index_type chunks(index_type chunk) const { return n_ > 0 ? (n_ - 1) / chunk + 1 : 0; }
  /// Where the sums of the host's chunks are.
  void* sums() { return sums_.data(); }

 private:
  virtual void run_chunk(index_type chunk) = 0;
  std::string name_;
  index_type n_ = 0;
  step_facts facts_;
  std::vector<std::byte> sums_;
};
namespace detail {

/// Indices that a host thread takes at a time. Fixed, so that totals do not depend on the number of threads.
constexpr index_type host_chunk = 2048;

/// The same for each kind of map: one index of a block or a whole problem is already much work.
template <class Map>
constexpr bool takes_problems = works_by_block<Map> || requires {
  Map::whole_problem;
};
template <class Map>
constexpr index_type host_chunk_of = takes_problems<Map>                       ? 1
                                     : team_kind_of<Map>() == team_kind::lanes ? 512
                                                                               : host_chunk;
/// Fewer chunks than this are not worth waking a thread for.
template <class Map>
constexpr index_type chunks_a_thread = takes_problems<Map> ? 1 : 16;

/// Throws whilst::error unless `lanes` is a power of two up to 32. `doing` opens the message.
void check_lanes(const std::string& doing, int lanes);

/// Whether two maps of one type ask for the same threads per index and the same memory.
template <class Map>
bool same_team(const Map& one, const Map& other) {
  bool same = lanes_wanted(one) == lanes_wanted(other);
  if constexpr (works_by_block<Map>) {
    same = one.threads_wanted() == other.threads_wanted();
    if constexpr (requires { one.cluster_wanted(); }) same &= one.cluster_wanted() == other.cluster_wanted();
    if constexpr (requires { one.fast_memory_bytes(); }) same &= one.fast_memory_bytes() == other.fast_memory_bytes();
  }
  return same;
}

}  // namespace detail

/// Whether nvcc compiles this source. Steps and handles name it in their types, and with them run.step, run.once and
/// run.team: where sources by both compilers record the same step, the linker would otherwise keep one of the two.
#if defined(__CUDACC__)
constexpr bool by_nvcc = true;
#else
constexpr bool by_nvcc = false;
#endif

/// A step made of a map and optionally a finish; optionally it knows the next step, its sequel. With kernels, if nvcc
/// compiles the source that records it.
template <class Map, class Finish, class Sequel = no_sequel, bool has_kernels = by_nvcc>
class map_step final : public recorded_step {
  static constexpr bool has_sums = !std::is_void_v<detail::map_result<Map>>;
  static constexpr detail::team_kind kind = detail::team_kind_of<Map>();
  static constexpr bool may_be_small = !std::is_same_v<Finish, no_finish> && !detail::works_by_block<Map>;
  static constexpr index_type threads_of_small = detail::by_warp<Finish> ? threads_spread : threads_alone;
  using finish_data = decltype(detail::finish_read_phase(std::declval<const Finish&>()));
  static constexpr index_type chunk_size = detail::host_chunk_of<Map>;
  static constexpr step_facts facts_of_type{.has_finish = !std::is_same_v<Finish, no_finish>,
                                            .has_sequel = !std::is_same_v<Sequel, no_sequel>,
                                            .fetches_only_constants = detail::fetches_only_constants<Map>(),
                                            .reads_own_ahead = detail::has_read_own<Map>,
                                            .bytes_of_sums = [] {
                                              if constexpr (has_sums) return sizeof(detail::map_result<Map>);
                                              return std::size_t{0};
                                            }()};

 public:
  static constexpr bool takes_loop = [] {
    if constexpr (has_sums) {
      return detail::takes_loop<Finish, finish_data, detail::map_result<Map>>;
    } else {
      return detail::takes_loop<Finish, finish_data>;
    }
  }();
  map_step(const char* name, index_type n, const Map& map, const Finish& finish, const Sequel& sequel = {})
      : recorded_step(name, facts_of_type), map_(map), finish_(finish), sequel_(sequel) {
    static_assert(std::is_trivially_copyable_v<Map> && std::is_trivially_copyable_v<Finish> &&
                      std::is_trivially_copyable_v<Sequel>,
                  "maps and finishes are copied to the device byte by byte: hold pointers and numbers in them");
    if constexpr (has_sums) {
      using sum = detail::map_result<Map>;
      static_assert(std::is_trivially_copyable_v<sum>,
                    "what a map returns is copied byte by byte and added up: return numbers, or whilst::sums of them");
      static_assert(alignof(sum) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                    "what a map returns is aligned as numbers are: return numbers, or whilst::sums of them");
    }
    set_count(n, detail::lanes_wanted(map), chunk_size);
  }

  Finish finish() const { return finish_; }
  /// Replaces the step's members. Returns whether its launch shape is sure to be unchanged.
  bool replace(index_type n, const Map& map, const Finish& finish, const Sequel& sequel) {
    const bool same_shape = n == count() && detail::same_team(map, map_);
    set_count(n, detail::lanes_wanted(map), chunk_size);
    // Reconstructed, not assigned: functors may have const members, and closures have no assignment.
    std::construct_at(&map_, map);
    std::construct_at(&finish_, finish);
    if constexpr (!std::is_empty_v<Sequel>) std::construct_at(&sequel_, sequel);  // an empty one may share its address
    return same_shape;
  }

  std::optional<index_type> bytes() const override {
    if constexpr (requires { map_.bytes(count()); }) {
      return map_.bytes(count());
    } else {
      return std::nullopt;
    }
  }

  void run_on_host([[maybe_unused]] loop_state* loop, int threads) override {
    [[maybe_unused]] const auto reads = detail::finish_read_phase(finish_);  // before the map, as on a GPU
    run_chunks(chunk_size, threads, detail::chunks_a_thread<Map>);
    if constexpr (has_sums) {
      detail::map_result<Map> total{};
      for (index_type chunk = 0; chunk < chunks(chunk_size); ++chunk) total += sum_of(chunk);
      detail::call_finish(finish_, loop, reads, total);
    } else if constexpr (!std::is_same_v<Finish, no_finish>) {
      detail::call_finish(finish_, loop, reads);
    }
  }

#if WHILST_WITH_CUDA
  launch_shape shape(const device_traits& device) const override;
  void with_kernel(const launch_shape& shape, const step_frame& frame, const kernel_user& use) const override;
#endif

 private:
#if defined(__CUDACC__)
  /// Most blocks of the step's kernel that the device runs as one cluster; 0 for none.
  index_type largest_cluster_here(const device_traits& device) const;
#endif
  void run_chunk(index_type chunk) override {
    const index_type begin = chunk * chunk_size, end = begin + std::min(count() - begin, chunk_size);
    if constexpr (has_sums) {
      detail::map_result<Map> total{};
      for (index_type i = begin; i < end; ++i) total += detail::apply_map(map_, i, lanes());
      sum_of(chunk) = total;
    } else {
      for (index_type i = begin; i < end; ++i) detail::apply_map(map_, i, lanes());
    }
  }
  auto& sum_of(index_type chunk) { return static_cast<detail::map_result<Map>*>(sums())[chunk]; }

  Map map_;
  Finish finish_;
  [[no_unique_address]] Sequel sequel_;
};

#if WHILST_WITH_CUDA
#if defined(__CUDACC__)

template <class Map, class Finish, class Sequel, bool has_kernels>
launch_shape map_step<Map, Finish, Sequel, has_kernels>::shape(const device_traits& device) const {
  launch_shape shape;
  auto* kernel = &detail::step_kernel<Map, Finish, no_sequel, false>;
  if constexpr (detail::works_by_block<Map>) {
    const cudaFuncAttributes attributes = device.kernels->attributes(reinterpret_cast<const void*>(kernel), name());
    // A method that is one kernel may need more registers than a full block leaves each thread.
    shape.threads = static_cast<unsigned>(std::min(map_.threads_wanted(), attributes.maxThreadsPerBlock) / 32 * 32);
    if constexpr (kind == detail::team_kind::cluster) {
      if (map_.cluster_wanted() > 1 && attributes.ptxVersion < 90)
        throw error("preparing step '" + name() + "'",
                    "it takes a cluster, and was compiled for a device that has none",
                    "Compile it for compute capability 9.0 or later");
      shape.cluster = static_cast<unsigned>(map_.cluster_wanted());
    }
    shape.blocks = shape.cluster * static_cast<unsigned>(std::clamp<index_type>(count(), 1, 65535 / shape.cluster));
    if constexpr (requires { map_.fast_memory_bytes(); }) {
      shape.fast_memory_bytes = static_cast<std::size_t>(map_.fast_memory_bytes());
      const int most = static_cast<int>(device.fast_memory_bytes - attributes.sharedSizeBytes);
      if (static_cast<index_type>(shape.fast_memory_bytes) > most)
        throw error("preparing step '" + name() + "'",
                    "its blocks take " + std::to_string(shape.fast_memory_bytes) + " bytes of shared memory, and " +
                        std::to_string(most) + " are left of the device's",
                    "Use executor graph");
      device.kernels->allow_fast_memory(reinterpret_cast<const void*>(kernel), most, name());
    }
    if (shape.cluster > 8) device.kernels->allow_large_clusters(reinterpret_cast<const void*>(kernel), name());
    return shape;
  }
  const index_type threads_wanted = count() * detail::lanes_wanted(map_);
  const auto whole_warps = [](index_type threads) {
    constexpr index_type least = (detail::finishing_threads<Finish> + 31) / 32;
    return static_cast<unsigned>(std::max<index_type>((threads + 31) / 32, least) * 32);
  };
  if constexpr (may_be_small) {
    // A kernel that will not run is not asked about: that would load it.
    const bool may_fit = threads_wanted <= largest_cluster * threads_of_small;
    // Blocks that need not meet in global memory finish a microsecond earlier; a single block, another half. The
    // exception: if each warp has much to do, as when a warp's finish has many sums, few should share a multiprocessor.
    constexpr bool spread = detail::by_warp<Finish>;
    const index_type most = !may_fit                                          ? 0
                            : threads_wanted <= (spread ? 64 : threads_alone) ? 1
                                                                              : largest_cluster_here(device);
    const index_type cluster = std::min<index_type>(most, !spread && threads_wanted <= 8 * 256 ? 8 : largest_cluster);
    if (threads_wanted <= cluster * threads_of_small && (count() > 0 || std::is_same_v<Map, detail::no_map>)) {
      shape.form = step_form::small;
      shape.blocks = shape.cluster = static_cast<unsigned>(cluster);
      shape.threads = whole_warps((threads_wanted + cluster - 1) / cluster);
      return shape;
    }
  }
  if constexpr (detail::splits<Map, Finish, Sequel>) {
    // Each block reads all sums and should have a multiprocessor to itself. Threads with two indices take longer.
    const index_type of_one = (count() + threads_spread - 1) / threads_spread, of_two = (of_one + 1) / 2;
    const index_type blocks = of_one <= device.multiprocessors ? of_one : of_two;
    if (count() > 0 && blocks <= device.multiprocessors) {
      shape.form = step_form::sums;
      shape.blocks = static_cast<unsigned>(blocks);
      shape.threads = threads_spread;
      return shape;
    }
  }
  shape.threads = std::min<unsigned>(whole_warps(threads_wanted), detail::by_warp<Finish> ? threads_spread : 256);
  if constexpr (requires { Map::threads_spread_out; }) {
    static_assert(Map::threads_spread_out >= 64, "two warps may do the finish");
    if (threads_wanted <= static_cast<index_type>(Map::threads_spread_out) * device.multiprocessors)
      shape.threads = std::min<unsigned>(shape.threads, Map::threads_spread_out);
  }
  const int resident_blocks =
      device.kernels->resident_blocks(reinterpret_cast<const void*>(kernel), static_cast<int>(shape.threads), name());
  const index_type blocks_wanted = (threads_wanted + shape.threads - 1) / shape.threads;
  shape.blocks = static_cast<unsigned>(
      std::clamp<index_type>(blocks_wanted, 1, static_cast<index_type>(resident_blocks) * device.multiprocessors));
  return shape;
}

template <class Map, class Finish, class Sequel, bool has_kernels>
index_type map_step<Map, Finish, Sequel, has_kernels>::largest_cluster_here(const device_traits& device) const {
  launch_shape small;
  small.form = step_form::small;
  if (!waits_for_previous(device, small)) return 0;
  const auto* const kernel = reinterpret_cast<const void*>(&detail::step_kernel<Map, Finish, Sequel, true>);
  return std::min(device.kernels->cluster_blocks(kernel, threads_of_small, name()), largest_cluster);
}

template <class Map, class Finish, class Sequel, bool has_kernels>
void map_step<Map, Finish, Sequel, has_kernels>::with_kernel(const launch_shape& shape, const step_frame& frame,
                                                             const kernel_user& use) const {
  step_frame filled = frame;
  filled.n = count();
  filled.lanes = detail::lanes_wanted(map_);
  const auto with = [&](auto* kernel, const auto&... parts) {
    void* arguments[] = {const_cast<void*>(static_cast<const void*>(&parts))..., &filled};
    use(reinterpret_cast<const void*>(kernel), arguments);
  };
  if constexpr (may_be_small) {
    if (shape.form == step_form::small)
      return with(&detail::step_kernel<Map, Finish, Sequel, true>, map_, finish_, sequel_);
  }
  if constexpr (detail::splits<Map, Finish, Sequel>) {
    using total = detail::map_result<Map>;
    const auto with_each = [&](auto each) {
      if (shape.form == step_form::sums) return with(&detail::sums_kernel<each(), Map>, map_);
      with(&detail::finish_sequel_kernel<each(), total, Finish, Sequel>, finish_, sequel_);
    };
    if (shape.form != step_form::large) {
      if (static_cast<index_type>(shape.blocks) * threads_spread >= count())
        return with_each(std::integral_constant<int, 1>());
      return with_each(std::integral_constant<int, 2>());
    }
  }
  with(&detail::step_kernel<Map, Finish, no_sequel, false>, map_, finish_, no_sequel{});
}

#else  // a CUDA build, but this file is not compiled by nvcc

namespace detail {
[[noreturn]] inline void not_compiled_for_gpu(const std::string& name) {
  throw error("recording step '" + name + "' for a GPU", "its source file was not compiled by nvcc",
              "Compile files that define steps as CUDA, or record them on the host");
}
}  // namespace detail
template <class Map, class Finish, class Sequel, bool has_kernels>
launch_shape map_step<Map, Finish, Sequel, has_kernels>::shape(const device_traits&) const {
  detail::not_compiled_for_gpu(name());
}
template <class Map, class Finish, class Sequel, bool has_kernels>
void map_step<Map, Finish, Sequel, has_kernels>::with_kernel(const launch_shape&, const step_frame&,
                                                             const kernel_user&) const {
  detail::not_compiled_for_gpu(name());
}

#endif
#endif

}  // namespace whilst
