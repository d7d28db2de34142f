#pragma once

/// The two kernels of a step with a sequel on a grid of more than a cluster, but not many, blocks. For nvcc.

#include "whilst/engine/steps/step_kernel.hpp"

/// Blocks that meet at a ticket in global memory wait three times: for their own writes to land, for the ticket, and
/// for the others' writes. Then all but one idle while that one finishes, and the sequel waits for another kernel. Here
/// the blocks meet at the edge between two kernels, and the second kernel also runs the sequel:
///
///   sums               map; each block leaves its sums in memory
///   finish and sequel  each block adds up what all have left, runs the finish for itself, on copies of its own in
///                      shared memory, and goes on with the sequel, whose reads were under way all the time
///
/// One block writes the finish's changes to memory: the last to make its copies, so that none copies what is already
/// written. A ticket tells which, taken by another warp while the finish runs. The first block writes histories, since
/// that happens before the ticket is known; no other block reads them.

namespace whilst::detail {

/// Whether a step may run as these two kernels.
template <class Map, class Finish, class Sequel>
constexpr bool splits = [] {
  if constexpr (std::is_same_v<Sequel, no_sequel> || team_kind_of<Map>() != team_kind::none || !in_halves<Finish> ||
                !by_each_block<Finish>) {
    return false;
  } else {
    return sizeof(map_result<Map>) <= 32 * sizeof(map_result<Map>{}.value[0]);  // a lane for each sum
  }
}();

/// One thread of the first kernel decides on the wish once, since all blocks of the second must agree. Stored after the
/// blocks' sums; null if not needed.
template <class Total>
__device__ outside_wish* decided_wish(const step_frame& frame) {
  if (!frame.links.counts_trip) return nullptr;
  return reinterpret_cast<outside_wish*>(static_cast<std::byte*>(frame.partials) +
                                         aligned_for_wish(gridDim.x * sizeof(Total)));
}

/// Entry q of a thread's work is index i(q) of the step, if that exists. A block has consecutive indices.
template <int each>
struct split_indexes {
  index_type n;
  __device__ index_type operator()(int q) const {
    return (static_cast<index_type>(blockIdx.x) * each + q) * threads_spread + threadIdx.x;
  }
  __device__ bool has(int q) const { return (*this)(q) < n; }
};

template <int each, class Map>
__global__ void __launch_bounds__(threads_spread)
    sums_kernel(const __grid_constant__ Map map, const __grid_constant__ step_frame frame) {
  using total_sums = map_result<Map>;
  if (frame.next_may_start_early) let_next_step_start();
  const lanes team;
  const split_indexes<each> i{frame.n};
  const auto at = [&](int q) { return i.has(q) ? i(q) : frame.n - 1; };
  decltype(fetch_phase(map, index_type{}, team)) fetched[each];
  decltype(read_own_phase(map, index_type{}, team)) own[each];
#pragma unroll
  for (int q = 0; q < each; ++q) fetched[q] = fetch_phase(map, at(q), team);
#pragma unroll
  for (int q = 0; q < each; ++q) own[q] = read_own_phase(map, at(q), team);
  // After the verdict, steps only release one another: sooner if the verdict has already been given.
  const bool is_over = frame.guard_only_falls && !read_early(frame.guard);
  if (is_over) let_next_step_start();
  wait_for_previous_step();
  if (is_over) return;
  let_next_step_start();
  int running = frame.guard ? read_early(frame.guard) : 1;
  const bool decides = blockIdx.x == 0 && threadIdx.x == 0;
  const outside_wish wish = decides ? frame.links.wish() : outside_wish{};
  decltype(read_after_own_phase(map, index_type{}, team, fetched[0], own[0])) data[each];
#pragma unroll
  for (int q = 0; q < each; ++q) data[q] = read_after_own_phase(map, at(q), team, fetched[q], own[q]);
  asm volatile("" : "+r"(running)::"memory");  // used here, not sooner
  if (!running) return;
  delay(frame.delay_seed, 1);
  total_sums total{};
#pragma unroll
  for (int q = 0; q < each; ++q)
    if (i.has(q)) total += write_phase(map, i(q), team, data[q]);
  delay(frame.delay_seed, 2);
  const auto of_block = block_team().template sum_scattered<threads_spread / 32>(total);
  using number = std::remove_cvref_t<decltype(total.value[0])>;
  constexpr unsigned count = sizeof(total_sums) / sizeof(number);
  if (threadIdx.x < 32) of_block.store(static_cast<number*>(frame.partials) + blockIdx.x * count);
  if (outside_wish* const decided = decided_wish<total_sums>(frame); decided && decides) *decided = wish.decided();
}

/// The sequel at all indices of a thread.
template <int each, class Sequel>
class sequel_of_indexes {
  sequel_of_block<Sequel> of_[each];

  template <int... q>
  __device__ sequel_of_indexes(const Sequel& sequel, const split_indexes<each>& i, std::integer_sequence<int, q...>)
      : of_{sequel_of_block<Sequel>(sequel, i(q), i.has(q))...} {}

 public:
  __device__ sequel_of_indexes(const Sequel& sequel, const split_indexes<each>& i)
      : sequel_of_indexes(sequel, i, std::make_integer_sequence<int, each>()) {}
  __device__ void read() {
#pragma unroll
    for (int q = 0; q < each; ++q) of_[q].read();
  }
  template <class Handed>
  __device__ void run(const Handed& handed) const {
#pragma unroll
    for (int q = 0; q < each; ++q) of_[q].run(handed);
  }
};

template <int each, class Total, class Finish, class Sequel>
__global__ void __launch_bounds__(threads_spread)
    finish_sequel_kernel(const __grid_constant__ Finish finish, const __grid_constant__ Sequel sequel,
                         const __grid_constant__ step_frame frame) {
  using number = std::remove_cvref_t<decltype(std::declval<Total&>().value[0])>;
  constexpr unsigned count = sizeof(Total) / sizeof(number), warps = threads_spread / 32;
  using scattered = scattered_sums<number, static_cast<int>(count)>;
  using copied = typename copied_by<Finish>::type;
  static_assert(hands_to<Finish, Sequel>, "a finish and its step's sequel meet in a struct, `handed`");
  static_assert(warps >= 3, "two warps finish, a third one takes the ticket");
  // Writers and readers of shared memory, and the barrier between them (1, 2, 3 below):
  //   controls, copies  asynchronous copies of warp 0, whose threads wait each for its own | 1 | warps 0 and 1
  //   of_warps          each warp its row                                                  | 1 | warps 0 and 1
  //   of_grid           each finishing warp its own                        | its __syncwarp | the same warp
  //   state, copies     warp 0 the verdict's, warp 1 those ahead and kept                  | 2 | warp 0
  //   writes            a thread of warp 2                                                 | 2 | warp 0; 3: all
  //   goes_on, told     warps 0 and 1                                                      | 3 | all
  // Within a warp the finish itself orders what its lanes exchange.
  __shared__ controls_ahead controls;
  __shared__ __align__(16) std::byte copies_memory[sizeof(copied)];
  __shared__ number of_warps[warps * count];
  __shared__ Total of_grid[2];  // each of the warps that finish has its own
  __shared__ typename handed_by<Finish>::type told;
  __shared__ int goes_on, writes;
  copied& copies = *reinterpret_cast<copied*>(copies_memory);
  const unsigned warp = threadIdx.x / 32;
  const bool leads = threadIdx.x == 0;

  if (frame.next_may_start_early) let_next_step_start();
  sequel_of_indexes<each, Sequel> rest(sequel, split_indexes<each>{frame.n});
  const bool is_over = frame.guard_only_falls && !read_early(frame.guard);
  wait_for_previous_step();
  let_next_step_start();
  if (is_over) {
    if (blockIdx.x == 0 && leads) frame.links.skip();
    return;
  }
  int running = frame.guard ? read_early(frame.guard) : 1;
  // Issue all reads before waiting for any, the most urgent first.
  if (warp == 0) finish.copy_ahead(copies, copy_by_warp());
  if (leads) controls.start(frame.links.loop, decided_wish<Total>(frame));
  typename scattered::template pieces_ahead<warps, 128> sums_of_blocks(static_cast<const number*>(frame.partials),
                                                                       gridDim.x, warp);
  rest.read();
  sums_of_blocks.total().store(of_warps + warp * count);
  asm volatile("" : "+r"(running)::"memory");
  if (warp == 0) controls.wait();
  if (!running) {
    if (blockIdx.x == 0 && leads) frame.links.skip();
    return;
  }
  __syncthreads();  // 1
  delay(frame.delay_seed, 1);

  const auto begin_half = [&]() -> const Total& {
    Total& total = of_grid[warp];
    scattered::template of_pieces<warps>(of_warps, warps).store(total.value);
    __syncwarp();
    return total;
  };
  Finish here = finish;
  here.handed = &told;
  loop_state& state = controls.state();
  history_record* history = nullptr;  // saved where this block must not record
  // Two warps finish while a third finds out whether its block is the one that writes. The others wait.
  if (warp == 0) {
    if (leads && blockIdx.x != 0) {
      // Volatile: the compiler would have every thread read it ahead of this condition, which racecheck reports.
      history = const_cast<history_record* volatile&>(state.history);
      state.history = nullptr;
    }
    here.first(whole_warp(), begin_half(), state, copies);
  } else if (warp == 1) {
    here.second(whole_warp(), begin_half(), copies);
  } else if (threadIdx.x == 2 * 32) {
    writes = arrive_last(frame.ticket);
  }
  __syncthreads();  // 2
  if (warp == 0) {
    here.join(whole_warp(writes), state, copies);
    __syncwarp();
    if (leads) {
      const reason asked = frame.links.counts_trip ? controls.wish().verdict() : reason::running;
      if (blockIdx.x != 0) state.history = history;
      goes_on = writes ? frame.links.conclude(state, asked) : frame.links.would_conclude(state, asked);
    }
  }
  __syncthreads();  // 3
  delay(frame.delay_seed, 2);
  if (goes_on) rest.run(told);
  if (!writes) return;
  if (warp == 1) here.keep(whole_warp(), copies);
  if (leads) frame.links.follow(state);
}

}  // namespace whilst::detail
