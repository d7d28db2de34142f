#pragma once

/// The kernel of a step between two rounds of sums. For nvcc.

#include <limits>
#include <type_traits>

#include "whilst/exchange/group_step_kernel.hpp"

namespace whilst::detail {

/// How the blocks of a step between two rounds add up.
enum class round_form {
  cluster,  ///< one cluster, by its shared memory, which takes less time than a ticket
  few,      ///< by a ticket, with all registers that a thread can use
  many      ///< by a ticket, of threads that have several indices each
};

/// Takes the sums of the last round, as group_step_kernel does, and gives those of the next: each block reads what its
/// indices need while the sums are under way, runs their finish for itself, goes on with the map, and sends what other
/// ranks read of it. The last block, of a cluster the first, gives the totals, and writes the finish's changes to
/// memory.
template <class Total, class Finish, class Map, class Sends, round_form form>
__global__ void __launch_bounds__(threads_of_group_step, form == round_form::many ? 2 : 1)
    round_step_kernel(const __grid_constant__ Finish finish, const __grid_constant__ Map map,
                      const __grid_constant__ give_sums<Total> gives, const __grid_constant__ Sends sends,
                      const __grid_constant__ step_frame frame) {
  constexpr bool is_cluster = form == round_form::cluster;
  [[maybe_unused]] __shared__ std::conditional_t<is_cluster, cluster_mailbox<Total>, no_sums> mailbox;
  __shared__ taken_by_block<Finish> taken;
  const bool leads = threadIdx.x == 0;
  const auto team = team_of_thread<Map>(frame);
  const auto reading_team = reading_team_of_thread<Map>(frame);
  const index_range range = indexes_of_thread<Map>(frame);
  // As in step_kernel, whole warps read together, past the last index too.
  index_type i = range.first;
  const auto warp_has_index = [&] { return i - range.in_warp < range.n; };
  const auto readable = [&] { return i < range.n ? i : range.n - 1; };
  const auto fetch = [&] { return fetch_phase(map, readable(), reading_team); };
  const auto read = [&](const auto& fetched) { return read_phase(map, readable(), reading_team, fetched); };

  if (frame.next_may_start_early) let_next_step_start();
  if constexpr (is_cluster) mailbox.announce();
  decltype(fetch()) fetched{};
  typename Sends::of_entry to_send{};
  if (warp_has_index()) {
    fetched = fetch();
    to_send = sends.fetch(readable());
  }
  if constexpr (is_cluster) mailbox.open();
  wait_for_previous_step();
  let_next_step_start();
  int running = frame.guard ? read_early(frame.guard) : 1;
  const group_exchange::round_to_end begun = gives.ranks.begun();
  const std::uint32_t halo_round = sends.next_round();
  typename taken_by_block<Finish>::finish_data finish_reads{};
  decltype(gives.read()) known{};
  if (leads) {
    finish_reads = taken.start(finish, frame);
    known = gives.read();
  }
  decltype(read(fetched)) data{};
  if (warp_has_index()) data = read(fetched);
  asm volatile("" : "+r"(running)::"memory");
  if (!running) return taken.skip(frame, leads);
  delay(frame.delay_seed, 1);

  const loop_state state = taken.template take<Total>(gives.ranks, begun, finish, finish_reads, frame, leads, [] {});
  // What came in with these sums goes on with the next ones.
  if (leads) {
    gives.ranks.read_noted(known.state);
    known.state.is_open = 0;
  }
  delay(frame.delay_seed, 2);
  Total total{};
  while (taken.goes_on && warp_has_index()) {
    if (i < range.n) {
      map.fill_in(data, taken.told);
      const Total share = write_phase(map, i, team, data);
      if (team.rank() == 0) {
        total += share;
        sends.send(i, to_send, halo_round);
      }
    }
    i += range.stride;
    if (warp_has_index()) {
      data = read(fetch());
      to_send = sends.fetch(readable());
    }
  }
  // A block that stops adds what is no number: where one has waited in vain and another just has not, they differ.
  if (!taken.goes_on)
    for (auto& sum : total.value) sum = std::numeric_limits<std::remove_cvref_t<decltype(sum)>>::quiet_NaN();
  // Whoever waited in vain has noted that before the totals arrive.
  for (const auto& sum : total.value)
    if (!is_finite(static_cast<double>(sum))) __threadfence();
  delay(frame.delay_seed, 3);
  constexpr int most_warps = threads_of_group_step / 32;
  bool concludes;
  if constexpr (is_cluster) {
    concludes = total_of_small_grid<most_warps>(total, frame, mailbox, [] {});
  } else {
    concludes = total_by_ticket<most_warps>(total, frame);
  }
  if (!concludes) return;
  if (!taken.goes_on) {
    frame.links.note_stop();
    frame.links.follow(state);
    return;
  }
  gives(total, known);
  *finish.handed = taken.told;
  sends.note_round(halo_round);
  frame.links.follow(state);
}

}  // namespace whilst::detail
