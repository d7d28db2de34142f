#pragma once

/// The kernel that runs a step: its indices, its sums over the grid, its finish and its links. For nvcc.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "whilst/basics/teams.hpp"
#include "whilst/engine/control/links.hpp"
#include "whilst/engine/control/read_ahead.hpp"
#include "whilst/engine/steps/cluster_team.hpp"
#include "whilst/engine/steps/grid_sums.hpp"
#include "whilst/engine/steps/phases.hpp"
#include "whilst/engine/steps/step_frame.hpp"

namespace whilst::detail {

/// Every thread of every step calls this before it reads anything that the previous step may write: with overlapping
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

/// The indices of one thread: first, first + stride, ... below n; the offset of the first from that of its warp; and
/// how many consecutive ones its block has at a time.
struct index_range {
  index_type first, stride, n;
  int in_warp, in_block;
};
template <class Map>
__device__ index_range indexes_of_thread(const step_frame& frame) {
  if constexpr (team_kind_of<Map>() == team_kind::cluster) {
    const unsigned blocks = blocks_of_cluster();
    return {static_cast<index_type>(blockIdx.x / blocks), static_cast<index_type>(gridDim.x / blocks), frame.n, 0, 1};
  } else if constexpr (team_kind_of<Map>() == team_kind::block) {
    return {static_cast<index_type>(blockIdx.x), static_cast<index_type>(gridDim.x), frame.n, 0, 1};
  } else if constexpr (team_kind_of<Map>() == team_kind::lanes) {
    const int shift = __ffs(frame.lanes) - 1;  // lanes are a power of two
    const index_type groups_a_block = blockDim.x >> shift;
    return {blockIdx.x * groups_a_block + (threadIdx.x >> shift), gridDim.x * groups_a_block, frame.n,
            static_cast<int>(threadIdx.x & 31u) >> shift, static_cast<int>(groups_a_block)};
  } else {
    return {static_cast<index_type>(blockIdx.x) * blockDim.x + threadIdx.x,
            static_cast<index_type>(gridDim.x) * blockDim.x, frame.n, 0, static_cast<int>(blockDim.x)};
  }
}
template <class Map>
__device__ auto team_of_thread([[maybe_unused]] const step_frame& frame) {
  if constexpr (works_by_block<Map>) {
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

/// A map whose threads have much to do each sets `static constexpr int threads_spread_out`: the threads of its blocks
/// where each block then has a multiprocessor to itself. On larger grids blocks have more, since those share a cache.
///
/// Least blocks of a step that fit a multiprocessor, at the price of registers; a map that streams memory sets it by
/// `static constexpr int blocks_wanted`.
template <class Map, class Finish>
constexpr int blocks_wanted() {
  if constexpr (requires { Map::blocks_wanted; }) {
    return Map::blocks_wanted;
  } else {
    return by_warp<Finish> ? 3 : 1;
  }
}
/// Whether every map of this type wants the same number of threads, which is a constant.
template <class Map>
concept wants_constant_threads = requires {
  typename std::integral_constant<int, Map::threads_wanted()>;
};
/// Most threads of a block.
template <class Map, class Finish, bool small>
constexpr int most_threads() {
  if constexpr (by_warp<Finish>) {
    return threads_spread;
  } else if constexpr (team_kind_of<Map>() == team_kind::block && wants_constant_threads<Map>) {
    constexpr unsigned threads = Map::threads_wanted();
    return static_cast<int>(std::bit_ceil(threads < 32 ? 32 : threads > 1024 ? 1024 : threads));
  } else {
    return small                                       ? threads_alone
           : team_kind_of<Map>() == team_kind::cluster ? threads_of_cluster_block
           : team_kind_of<Map>() == team_kind::block   ? 1024
                                                       : 256;
  }
}

/// A finish by a whole warp, or by two that do half each.
template <class Finish, class Total>
__device__ void finish_by_warp(const Finish& finish, const Total& total, loop_state& loop,
                               typename Finish::copied& copies) {
  if constexpr (in_halves<Finish>) {
    const auto meet = [] { asm volatile("barrier.sync 1, 64;" ::: "memory"); };
    if (threadIdx.x < 32) {
      finish.first(whole_warp(), total, loop, copies);
      meet();
      finish.join(whole_warp(), loop, copies);
    } else {
      finish.second(whole_warp(), total, copies);
      meet();
      finish.keep(whole_warp(), copies);
    }
  } else {
    finish(whole_warp(), total, loop, copies);
  }
}

/// The sequel of a step within the kernel of the step's finish. Each block keeps its indices, if on other threads, so
/// it sees what its map wrote. fills_in: what keeps_handed is read before the finish, too.
template <class Sequel, bool fills_in = false>
class sequel_of_block {
  using fetched = decltype(fetch_phase(std::declval<const Sequel&>(), index_type{}, lanes()));
  using data =
      decltype(untold_read_phase(std::declval<const Sequel&>(), index_type{}, lanes(), std::declval<fetched>()));
  static constexpr bool is_filled_in = fills_in && keeps_handed<Sequel, data>;
  const Sequel& sequel_;
  index_type i_;
  bool is_there_;
  fetched fetched_;
  std::conditional_t<is_told<Sequel, data> || is_filled_in, data, nothing_read> data_;

 public:
  static constexpr bool reads_before_finish = is_told<Sequel, data> || is_filled_in;

  /// Reads ahead what neither the map nor the finish writes.
  __device__ sequel_of_block(const Sequel& sequel, index_type i, bool is_there)
      : sequel_(sequel), i_(i), is_there_(is_there), fetched_(fetch_phase(sequel, is_there ? i : 0, lanes())) {}
  /// After the map and before the finish: reads what does not depend on the finish.
  __device__ void read() {
    if constexpr (reads_before_finish) data_ = untold_read_phase(sequel_, is_there_ ? i_ : 0, lanes(), fetched_);
  }
  /// Call once the block knows the finish's result.
  template <class Handed>
  __device__ void run(const Handed& handed) const {
    if (!is_there_) return;
    if constexpr (is_told<Sequel, data>) {
      sequel_(i_, data_, handed);
    } else if constexpr (is_filled_in) {
      data whole = data_;
      whole.handed = handed;
      write_phase(sequel_, i_, lanes(), whole);
    } else {
      Sequel here = sequel_;
      here.handed = &handed;
      write_phase(here, i_, lanes(), untold_read_phase(here, i_, lanes(), fetched_));
    }
  }
};

/// A small grid is one block or one cluster of a step with a finish, with a thread or a team for each index: its sums
/// meet in shared memory, its spare registers let all reads be in flight at once, and it also runs the step's sequel,
/// if any.
///
/// A small step's time goes into fetching instructions, some 3 cycles for each that runs once, besides trips to memory.
/// So nothing that runs once is in a loop here.
template <class Map, class Finish, class Sequel, bool small>
__global__ void __launch_bounds__(most_threads<Map, Finish, small>(), small ? 1 : blocks_wanted<Map, Finish>())
    step_kernel(const __grid_constant__ Map map, const __grid_constant__ Finish finish,
                const __grid_constant__ Sequel sequel, const __grid_constant__ step_frame frame) {
  constexpr bool has_sequel = !std::is_same_v<Sequel, no_sequel>;
  static_assert(small || !has_sequel, "blocks that meet in global memory do not wait for the finish");
  static_assert(!has_sequel || hands_to<Finish, Sequel>, "a finish and its step's sequel meet in a struct, `handed`");
  constexpr bool has_finish = !std::is_same_v<Finish, no_finish>;
  constexpr bool has_sums = !std::is_void_v<map_result<Map>>;
  static_assert(has_finish || !has_sums, "a step that produces sums needs a finish that receives them");
  if (frame.next_may_start_early) let_next_step_start();
  const auto team = team_of_thread<Map>(frame);
  const auto reading_team = reading_team_of_thread<Map>(frame);
  const index_range range = indexes_of_thread<Map>(frame);
  // Whole warps read together, past the last index too; only existing indices are written.
  index_type i = range.first;
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
  using handed = typename handed_by<Finish>::type;
  [[maybe_unused]] __shared__ std::conditional_t<has_sequel, conclusion<handed>, no_sums> concluded;
  constexpr bool is_told = tells<Map, Finish>;
  using told_type = typename told_by<Map>::type;
  [[maybe_unused]] __shared__ std::conditional_t<is_told, told_type, no_sums> told;
  [[maybe_unused]] __shared__ std::conditional_t<is_told, bool, no_sums> others_have_read;
  // What the finish is told comes from the first block, which then does not wait for the others' writes.
  [[maybe_unused]] const bool first_concludes = is_told && gridDim.x >= frame.n;
  [[maybe_unused]] unsigned arrived_before = 0;
  const bool reads_for_finish_now = small || (first_concludes && blockIdx.x == 0);
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
    if constexpr (has_sequel) concluded.announce();
    if (gridDim.x > 1) mailbox.announce();
  }
  // A small grid with a map has at least one index; threads without an index of their own read the last one.
  constexpr bool has_first = small || is_told;  // a map that tells has an index 0, and no more blocks than indices
  decltype(fetch()) fetched{};
  if (has_first || warp_has_index()) fetched = fetch();
  if constexpr (may_send) {
    if (gridDim.x > 1) mailbox.open();
  }
  wait_for_previous_step();
  let_next_step_start();
  // Issue all these reads before waiting for the first: one trip to memory, not three.
  int running = frame.guard ? read_early(frame.guard) : 1;
  if (reads_for_finish_now) read_for_finish();
  decltype(read(fetched)) data{};
  if (has_first || warp_has_index()) data = read(fetched);
  asm volatile("" : "+r"(running)::"memory");  // used here, not sooner
  if (!running) {
    if constexpr (has_finish) {
      if (reads_for_finish_now && threadIdx.x < leaders) controls.wait();
      if (blockIdx.x == 0 && threadIdx.x == 0) frame.links.skip();
    }
    return;
  }
  delay(frame.delay_seed, 1);

  // The same thing twice: from a single version, and with another finish, nvcc ordered the loads of large grids such
  // that a product with 80 entries per row took 6 % longer.
  if constexpr (small) {
    if (i < range.n) {
      if constexpr (has_sums) {
        const auto share = write_phase(map, i, team, data);
        if (team.rank() == 0) total += share;
      } else {
        write_phase(map, i, team, data);
      }
    }
  } else {
    while (warp_has_index()) {
      if (i < range.n) {
        if constexpr (has_sums) {
          const auto share = write_phase(map, i, team, data);
          if (team.rank() == 0) total += share;
        } else if constexpr (is_told) {
          Map here = map;
          here.told = &told;
          here(i, team, data, [&] {
            if (first_concludes && threadIdx.x == 0) arrived_before = arrive_early(frame.ticket);
          });
        } else {
          write_phase(map, i, team, data);
        }
      }
      i += range.stride;
      // The next index reuses shared memory. The warps of a block that tells go on as each is ready.
      if (works_by_block<Map> && (!is_told || warp_has_index())) __syncthreads();
      if (warp_has_index()) data = read(fetch());
    }
  }

  delay(frame.delay_seed, 2);
  [[maybe_unused]] auto rest = [&] {
    if constexpr (has_sequel) {
      const index_type own = static_cast<index_type>(blockIdx.x) * range.in_block + threadIdx.x;
      return sequel_of_block<Sequel>(sequel, own, threadIdx.x < range.in_block && own < range.n);
    } else {
      return no_sequel{};
    }
  }();
  if constexpr (has_sequel) {
    // Other threads may have had the map's indices.
    if constexpr (decltype(rest)::reads_before_finish && team_kind_of<Map>() != team_kind::none) __syncthreads();
    rest.read();
  }
  if constexpr (has_finish) {
    if (!small && !is_told) read_for_finish();
    // A sequel needs one thread's copy of the loop's state again; a warp works on its shared copy.
    [[maybe_unused]] std::conditional_t<has_sequel && !by_warp<Finish>, loop_state, no_sums> of_thread;
    const auto prepare = [&] { prepare_finish(finish, finish_reads); };
    constexpr bool is_prepared = small && has_sums;  // while waiting for the sums
    const auto call = [&](const Finish& here, loop_state* loop, const auto&... totals) {
      if constexpr (!is_prepared) prepare();
      if constexpr (is_told) {
        Finish of_told = here;
        of_told.told = &told;
        call_prepared_finish(of_told, loop, finish_reads, totals...);
      } else {
        call_prepared_finish(here, loop, finish_reads, totals...);
      }
    };
    const auto conclude = [&](const auto&... totals) {
      // Called before the finish: later it would wait for it, and registers have no room for the wish itself.
      const auto asked = [&] { return frame.links.counts_trip ? controls.wish().verdict() : reason::running; };
      if constexpr (has_sequel) {
        Finish here = finish;
        here.handed = &concluded.handed();
        if constexpr (by_warp<Finish>) {
          loop_state& state = controls.state();
          const reason wished = asked();
          finish_by_warp(here, totals..., state, copies);
          __syncwarp();
          if (threadIdx.x == 0) concluded.conclude(frame.links.conclude(state, wished));
        } else {
          of_thread = controls.state();
          const reason wished = asked();
          call(here, &of_thread, totals...);
          concluded.conclude(frame.links.conclude(of_thread, wished));
        }
      } else if constexpr (by_warp<Finish>) {
        loop_state& state = controls.state();
        const reason wished = asked();
        finish_by_warp(finish, totals..., state, copies);
        __syncwarp();
        if (threadIdx.x == 0) frame.links.follow(state, wished);
      } else if constexpr (finish_takes_loop) {
        loop_state state = controls.state();
        const reason wished = asked();
        call(finish, &state, totals...);
        frame.links.follow(state, wished);
      } else {
        const reason wished = asked();
        call(finish, nullptr, totals...);
        frame.links.follow(wished);
      }
    };
    static_assert(has_sums || leaders == 1, "a finish by a whole warp receives sums");
    bool concludes;
    constexpr int most_warps = most_threads<Map, Finish, small>() / 32;
    if constexpr (by_warp<Finish>) {
      decltype(block_team().template sum_scattered<most_warps>(total)) scattered;
      constexpr std::size_t shared_limit = 48 * 1024, pieces = most_warps + (may_send ? largest_cluster : 0) + 1;
      static_assert(pieces * sizeof(total) + block_team::warps_with_rows * sizeof(typename decltype(scattered)::rows) +
                            sizeof(copied) + sizeof(controls) + sizeof(concluded) + 64 <=
                        shared_limit,
                    "a step has more sums than shared memory has room for");
      if constexpr (small) {
        concludes = total_of_small_grid<most_warps>(total, scattered, frame, mailbox);
      } else {
        concludes = total_by_ticket<most_warps>(total, scattered, frame);
      }
      if (threadIdx.x < leaders) controls.wait();
      __shared__ map_result<Map> of_grid;
      if (concludes) scattered.store(of_grid.value);
      if constexpr (in_halves<Finish>) {
        concludes = __syncthreads_or(concludes) && threadIdx.x < finishing_threads<Finish>;
      } else {
        __syncwarp();
      }
      if (concludes) conclude(of_grid);
    } else {
      if constexpr (may_send) {
        concludes = total_of_small_grid<most_warps>(total, frame, mailbox, prepare);
      } else if constexpr (has_sums) {
        concludes = total_by_ticket<most_warps>(total, frame);
      } else if constexpr (is_told) {
        if (blockIdx.x == 0 && first_concludes) {
          if (gridDim.x > 1 && threadIdx.x == blockDim.x - 1) others_have_read = others_have_arrived(frame.ticket);
          __syncthreads();
          concludes = threadIdx.x == 0;
          if (concludes && gridDim.x > 1) {
            if (others_have_read) {
              *frame.ticket = 0;
            } else {
              *finish.told = told;
              concludes = arrive_last(frame.ticket);
            }
          }
        } else {
          if (first_concludes) {
            concludes = threadIdx.x == 0 && arrived_before == gridDim.x - 1;
          } else {
            __syncthreads();
            if (blockIdx.x == 0 && threadIdx.x == 0) *finish.told = told;
            concludes = threadIdx.x == 0 && arrive_last(frame.ticket);
          }
          if (concludes) {
            __threadfence();
            told = *finish.told;
            read_for_finish();
          }
        }
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
    if constexpr (has_sequel) {
      static_assert(finish_takes_loop, "a verdict holds the sequel back");
      if (gridDim.x > 1 && blockIdx.x == 0 && threadIdx.x < 32) concluded.send();
      const bool goes_on = concluded.learn();
      if (concludes && threadIdx.x == 0) {
        if constexpr (by_warp<Finish>) {
          frame.links.follow(controls.state());
        } else {
          if (goes_on) *finish.handed = concluded.handed();
          frame.links.follow(of_thread);
        }
      }
      delay(frame.delay_seed, 3);
      if (goes_on) rest.run(concluded.handed());
    }
  }
}

}  // namespace whilst::detail
