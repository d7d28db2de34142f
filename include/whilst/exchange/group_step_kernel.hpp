#pragma once

/// The kernel of a step that waits for the sums of all ranks. For nvcc.

#include "whilst/engine/steps/step_kernel.hpp"
#include "whilst/exchange/group_exchange.hpp"

namespace whilst::detail {

inline constexpr int threads_of_group_step = 256;
/// With more indices than that, threads have several each, and a fourth block on a multiprocessor gains more than its
/// registers cost: what a thread keeps elsewhere it needs once.
inline constexpr index_type most_indices_of_few_blocks = 96 * 1024;

/// Each block waits for the sums of all ranks, runs the finish for itself on copies of its own, and goes on with the
/// sequel, whose first reads were under way meanwhile: a kernel less than one that waits and finishes, and one for the
/// sequel. What the sequel makes and other ranks read next is sent at once. The last block to have read what the finish
/// reads writes its changes to memory; the first one writes histories. See split_step_kernels.hpp, where blocks do the
/// same with the sums of their own grid.
template <class Total, class Finish, class Sequel, class Sends, bool many>
__global__ void __launch_bounds__(threads_of_group_step, many ? 4 : 1)
    group_step_kernel(const __grid_constant__ group_exchange ranks, const __grid_constant__ Finish finish,
                      const __grid_constant__ Sequel sequel, const __grid_constant__ Sends sends,
                      const __grid_constant__ step_frame frame) {
  static_assert(hands_to<Finish, Sequel>, "a finish and its step's sequel meet in a struct, `handed`");
  __shared__ controls_ahead controls;
  __shared__ typename handed_by<Finish>::type told;
  __shared__ int goes_on, writes;
  using finish_data = decltype(finish_read_phase(finish));
  constexpr bool has_sends = !std::is_same_v<Sends, no_sends>;
  const bool leads = threadIdx.x == 0;
  const index_type first = static_cast<index_type>(blockIdx.x) * blockDim.x + threadIdx.x,
                   stride = static_cast<index_type>(gridDim.x) * blockDim.x;

  if (frame.next_may_start_early) let_next_step_start();
  // A rank may have no index at all.
  const bool has_first = first < frame.n;
  sequel_of_block<Sequel, true> rest(sequel, has_first ? first : 0, has_first && frame.n > 0);
  const auto sends_of = [&]([[maybe_unused]] index_type i) {
    if constexpr (has_sends) {
      return sends.fetch(i);
    } else {
      return nothing_read{};
    }
  };
  [[maybe_unused]] const auto to_send = sends_of(has_first ? first : 0);
  wait_for_previous_step();
  let_next_step_start();
  int running = frame.guard ? read_early(frame.guard) : 1;
  const group_exchange::round_to_end begun = ranks.begun();
  [[maybe_unused]] const std::uint32_t halo_round = [&] {
    if constexpr (has_sends)
      return sends.next_round();
    else
      return 0u;
  }();
  finish_data finish_reads{};
  if (leads) {
    controls.start(frame.links.loop, frame.links.wish_at());
    finish_reads = finish_read_phase(finish);
  }
  if (frame.n > 0) rest.read();
  asm volatile("" : "+r"(running)::"memory");
  if (!running) {
    if (leads) controls.wait();
    if (blockIdx.x == 0 && leads) frame.links.skip();
    return;
  }
  delay(frame.delay_seed, 1);

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
    prepare_finish(here, finish_reads);
    call_prepared_finish(here, &state, finish_reads, total);
    state.history = history;
    goes_on = frame.links.would_conclude(state, frame.links.counts_trip ? controls.wish().verdict() : reason::running);
  } else if (threadIdx.x == 32) {
    // Others have nothing to see of this block but that it has read.
    writes = arrive_early(frame.ticket) == gridDim.x - 1;
  }
  __syncthreads();
  delay(frame.delay_seed, 2);
  if (goes_on && frame.n > 0) {
    rest.run(told);
    if constexpr (has_sends) {
      if (has_first) sends.send(first, to_send, halo_round);
    }
    for (index_type i = first + stride; i < frame.n; i += stride) {
      sequel_of_block<Sequel, true> one(sequel, i, true);
      one.read();
      [[maybe_unused]] const auto of_one = sends_of(i);
      one.run(told);
      if constexpr (has_sends) sends.send(i, of_one, halo_round);
    }
  }
  if (!writes || !leads) return;
  if (goes_on) {
    *finish.handed = told;
    if constexpr (has_sends) sends.note_round(halo_round);
  } else {
    frame.links.note_stop();
  }
  frame.links.follow(state);
}

}  // namespace whilst::detail
