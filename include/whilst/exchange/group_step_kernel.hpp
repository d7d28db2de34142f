#pragma once

/// The kernels of steps that wait for the sums of all ranks. For nvcc.

#include "whilst/engine/steps/step_kernel.hpp"
#include "whilst/exchange/group_exchange.hpp"

namespace whilst::detail {

inline constexpr int threads_of_group_step = 256;
/// Blocks of a multiprocessor, and the indices of a grid up to which so many are fastest. One has all registers that a
/// thread can use. With two, each thread has two indices, whose reads are under way while the sums are: with 250 000
/// indices that takes a microsecond less. With more indices memory is the limit, and four keep it busier.
inline constexpr index_type most_indices_of_few_blocks = 96 * 1024, most_indices_of_two_blocks = 1024 * 1024;

/// What a block keeps in shared memory while it takes the sums of all ranks.
template <class Finish>
struct taken_by_block {
  controls_ahead controls;
  typename handed_by<Finish>::type told;
  int goes_on;

  using finish_data = decltype(finish_read_phase(std::declval<const Finish&>()));
  /// What the first thread reads ahead.
  __device__ finish_data start(const Finish& finish, const step_frame& frame) {
    controls.start(frame.links.loop, frame.links.wish_at());
    return finish_read_phase(finish);
  }
  /// For a block that finds that the loop has stopped.
  __device__ void skip(const step_frame& frame, bool leads) const {
    if (leads) controls.wait();
    if (blockIdx.x == 0 && leads) frame.links.skip();
  }
  /// Waits for the sums and runs the finish on this block's copies. Afterwards all threads have `told` and `goes_on`.
  /// Returns on the first thread the loop's state as the finish leaves it. meanwhile: called by all other threads.
  template <class Total, class Meanwhile>
  __device__ loop_state take(const group_exchange& ranks, const group_exchange::round_to_end& begun,
                             const Finish& finish, finish_data& reads, const step_frame& frame, bool leads,
                             const Meanwhile& meanwhile) {
    Total total{};
    if (threadIdx.x < 32) {
      WHILST_ROLLED
      for (int q = static_cast<int>(threadIdx.x); q < ranks.ranks; q += 32)
        total += ranks.template of_rank<Total>(q, begun);
      total = lanes_of_whole_warp(32).sum(total);
    }
    if (leads) controls.wait();
    // What this block's copies are made of has been read.
    __syncthreads();
    loop_state state;
    if (leads) {
      state = controls.state();
      history_record* const history = state.history;
      if (blockIdx.x != 0) state.history = nullptr;
      Finish here = finish;
      here.handed = &told;
      prepare_finish(here, reads);
      call_prepared_finish(here, &state, reads, total);
      state.history = history;
      goes_on =
          frame.links.would_conclude(state, frame.links.counts_trip ? controls.wish().verdict() : reason::running);
    } else {
      meanwhile();
    }
    __syncthreads();
    return state;
  }
};

/// One index of a sequel, with what others read of it.
template <class Sequel, class Sends>
class index_with_sends {
  const Sends& sends_;
  index_type i_;
  bool is_there_;
  sequel_of_block<Sequel, true> sequel_;
  typename Sends::of_entry to_send_{};

 public:
  /// Reads ahead what is constant, of index 0 where there is no i.
  __device__ index_with_sends(const Sequel& sequel, const Sends& sends, index_type i, index_type n)
      : sends_(sends), i_(i), is_there_(i < n), sequel_(sequel, i, i < n) {}
  __device__ void read() { sequel_.read(); }
  /// What others read of it, which is constant, too. The thread waits for it here, so call read() first where that can
  /// be.
  __device__ void fetch_sends() { to_send_ = sends_.fetch(is_there_ ? i_ : 0); }
  template <class Handed>
  __device__ void run(const Handed& handed, std::uint32_t halo_round) const {
    sequel_.run(handed);
    if (is_there_) sends_.send(i_, to_send_, halo_round);
  }
};

/// Each block waits for the sums of all ranks, runs the finish for itself on copies of its own, and goes on with the
/// sequel, whose first reads were under way meanwhile: a kernel less than one that waits and finishes, and one for the
/// sequel. What the sequel makes and other ranks read next is sent at once. The last block to have read what the finish
/// reads writes its changes to memory; the first one writes histories. See split_step_kernels.hpp, where blocks do the
/// same with the sums of their own grid. For at least one index.
template <class Total, class Finish, class Sequel, class Sends, int blocks>
__global__ void __launch_bounds__(threads_of_group_step, blocks)
    group_step_kernel(const __grid_constant__ group_exchange ranks, const __grid_constant__ Finish finish,
                      const __grid_constant__ Sequel sequel, const __grid_constant__ Sends sends,
                      const __grid_constant__ step_frame frame) {
  static_assert(hands_to<Finish, Sequel>, "a finish and its step's sequel meet in a struct, `handed`");
  __shared__ taken_by_block<Finish> taken;
  __shared__ int writes;
  constexpr bool reads_two = blocks == 2;
  const bool leads = threadIdx.x == 0;
  const index_type first = static_cast<index_type>(blockIdx.x) * blockDim.x + threadIdx.x,
                   stride = static_cast<index_type>(gridDim.x) * blockDim.x;
  const auto at = [&](index_type i) { return index_with_sends<Sequel, Sends>(sequel, sends, i, frame.n); };

  if (frame.next_may_start_early) let_next_step_start();
  auto one = at(first);
  [[maybe_unused]] auto another = at(reads_two ? first + stride : frame.n);
  one.fetch_sends();
  if constexpr (reads_two) another.fetch_sends();
  wait_for_previous_step();
  let_next_step_start();
  int running = frame.guard ? read_early(frame.guard) : 1;
  const group_exchange::round_to_end begun = ranks.begun();
  const std::uint32_t halo_round = sends.next_round();
  typename taken_by_block<Finish>::finish_data finish_reads{};
  if (leads) finish_reads = taken.start(finish, frame);
  one.read();
  if constexpr (reads_two) another.read();
  asm volatile("" : "+r"(running)::"memory");
  if (!running) return taken.skip(frame, leads);
  delay(frame.delay_seed, 1);

  const loop_state state = taken.template take<Total>(ranks, begun, finish, finish_reads, frame, leads, [&] {
    // Others have nothing to see of this block but that it has read.
    if (threadIdx.x == 32) writes = arrive_early(frame.ticket) == gridDim.x - 1;
  });
  delay(frame.delay_seed, 2);
  if (taken.goes_on) {
    one.run(taken.told, halo_round);
    if constexpr (reads_two) another.run(taken.told, halo_round);
    for (index_type i = first + (reads_two ? 2 : 1) * stride; i < frame.n; i += stride) {
      auto later = at(i);
      later.read();
      later.fetch_sends();
      later.run(taken.told, halo_round);
    }
  }
  if (!writes || !leads) return;
  if (taken.goes_on) {
    *finish.handed = taken.told;
    sends.note_round(halo_round);
  } else {
    frame.links.note_stop();
  }
  frame.links.follow(state);
}

}  // namespace whilst::detail
