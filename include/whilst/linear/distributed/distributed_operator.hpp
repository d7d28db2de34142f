#pragma once

#include <algorithm>
#include <type_traits>

#include "whilst/exchange/group_recorder.hpp"
#include "whilst/linear/distributed/halo_exchange.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

namespace detail {

/// Reads a row by `read(fetched, missing)`, which notes the word of a ghost that was missing, until none is: once, as
/// ghosts are mostly there. Where one is not, the row is read once more after a wait; where that is in vain, the ghost
/// stays what it is, no number. once: called after the first time. One text for both: of two copies, of which one is
/// run where a ghost is late, each may round differently.
template <class Rows, class Fetched, class Team, class Read, class Once>
WHILST_HD auto row_with_waits(const Rows& rows, const halo_exchange& halo, std::uint32_t round, const int* running,
                              Fetched entries, index_type i, const Team& team, const Read& read, const Once& once) {
  constexpr std::int32_t none = -1;
  // Whether it holds for any of the lanes that must read a row together: those of the team, and where its sums take the
  // whole warp, all of that.
  const auto is_any = [&](bool holds) {
    if constexpr (requires { team.any_of_warp(holds); }) {
      return team.any_of_warp(holds);
    } else {
      return team.sum(holds ? 1 : 0) != 0;
    }
  };
  bool waits = true, is_first = true;
  WHILST_ROLLED
  while (true) {
    std::int32_t missing = none;
    const auto sum = read(entries, &missing);
    if (is_first) once();
    is_first = false;
    if (!is_any(missing != none && waits)) [[likely]]
      return sum;
    if (missing != none && waits) waits = halo.wait_for(missing, round, running);
    entries = fetch_row(rows, i, team);
  }
}

}  // namespace detail

/// The rows of a rank, for one product: with x's own entries in memory and its ghosts from other ranks. The step of the
/// product also sends what others read of x.
template <class T, class Rows>
struct rows_with_ghosts {
  static constexpr bool fetches_constants = detail::fetches_only_constants<Rows>();
  Rows local;
  halo_exchange halo;
  const int* running;
  /// Where the first threads of a step might wait while others have not yet sent, a step before it sends.
  bool sends;

  WHILST_HD index_type rows() const { return local.rows(); }
  WHILST_HD int lanes_wanted() const { return local.lanes_wanted(); }
  index_type bytes() const requires says_bytes<Rows> { return local.bytes(); }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return fetch_row(local, i, team);
  }
  template <class Fetched, class Team>
  WHILST_HD T row(const Fetched& fetched, index_type i, const T* x, const Team& team) const {
    const halo_exchange::round_of_vector now = halo.round_of(x);
    const bool is_to_send = sends && i < halo.sends && !now.is_sent;
    return detail::row_with_waits(
        local, halo, now.round, running, fetched, i, team,
        [&](const Fetched& entries, std::int32_t* missing) {
          return row_times(entries, local, i, vector_with_ghosts<T>{halo, x, now.round, missing}, team);
        },
        [&] {
          if (is_to_send && team.rank() == 0) [[unlikely]]
            send(halo.targets + i, x + halo.send_indices[i], now.round, running);
        });
  }
  /// For a step that makes the vector to multiply next; null for none.
  halo_sends<T> sends_of(const T* made) const { return {{halo}, made}; }

 private:
  // Apart, and given values alone: see halo_exchange::wait_for.
  WHILST_NOINLINE WHILST_HD static void send(const halo_target* to, const T* entry, std::uint32_t round,
                                             const int* running) {
    if (!halo_exchange::has_stopped(running)) halo_exchange::send(*to, *entry, round);
  }
};

/// The same for two vectors at once, whose entries were sent before the step.
template <class T, class Rows>
struct rows_with_ghosts_of_two {
  static constexpr bool fetches_constants = detail::fetches_only_constants<Rows>(), takes_two_vectors = true;
  Rows local;
  halo_exchange halo;
  const int* running;

  WHILST_HD index_type rows() const { return local.rows(); }
  WHILST_HD int lanes_wanted() const { return local.lanes_wanted(); }
  index_type bytes() const requires says_bytes<Rows> { return local.bytes(); }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return fetch_row(local, i, team);
  }
  template <class Fetched, class Team>
  WHILST_HD two<T> row(const Fetched& fetched, index_type i, const two_vectors<T>& x, const Team& team) const {
    const std::uint32_t round = halo.state->sent;
    return detail::row_with_waits(
        local, halo, round, running, fetched, i, team,
        [&](const Fetched& entries, std::int32_t* missing) -> two<T> {
          const two_with_ghosts<T> both{halo, x, round, missing};
          if constexpr (requires { requires Rows::takes_two_vectors; }) {
            return local.row(entries, i, both, team);
          } else {
            return {row_times(entries, local, i, both.first, team), row_times(entries, local, i, both.second, team)};
          }
        },
        [] {});
  }
};

/// Sends what others read of x, in a step of its own.
template <class T>
struct send_entries {
  halo_exchange halo;
  const T* x;
  WHILST_HD void operator()(index_type j) const {
    const halo_exchange::round_of_vector now = halo.round_of(x);
    if (!now.is_sent) halo_exchange::send(halo.targets[j], x[halo.send_indices[j]], now.round);
  }
  index_type bytes(index_type n) const {
    return n * static_cast<index_type>(sizeof(T) + sizeof(std::int32_t) + sizeof(halo_target) + sizeof(tagged_word));
  }
};

/// The same of two vectors.
template <class T>
struct send_two_entries {
  halo_exchange halo;
  two_vectors<T> x;
  WHILST_HD void operator()(index_type j) const {
    halo_exchange::send_two(halo.targets[j], x[halo.send_indices[j]], halo.state->sent + 1);
  }
  index_type bytes(index_type n) const {
    return n * static_cast<index_type>(sizeof(two<T>) + sizeof(std::int32_t) + sizeof(halo_target) +
                                       2 * sizeof(tagged_word));
  }
};
/// Its finish.
struct count_sent_round {
  halo_state* state;
  WHILST_HD void operator()() const { state->sent += 1; }
};

/// The rows that a rank has of a distributed operator. Rows is the operator of these: it numbers own columns from 0 and
/// ghosts after them, and reads x by x[i]. It has no row of its own: methods get rows for a vector whose entries have
/// been sent, so that none can forget that. For a group_recorder.
template <class T, class Rows>
struct distributed_operator {
  static constexpr bool runs_in_kernel = false, exchanges_two = true;
  /// Up to so many entries, less where lanes share a row, each is sent by a thread of its own before that waits for
  /// anything: 64 multiprocessors with 512 threads each. With more, a step of its own takes no time that counts.
  static constexpr index_type most_sends_of_product = 32768;
  Rows local;
  halo_exchange halo;
  bool is_mutual;  ///< see halo
  index_type rows_of_all;
  halo_exchange of_two = {};  ///< for products of two vectors at once; without memory unless the method asks for it

  WHILST_HD index_type rows() const { return local.rows(); }
  WHILST_HD index_type global_rows() const { return rows_of_all; }
  WHILST_HD int lanes_wanted() const { return local.lanes_wanted(); }
  index_type bytes() const requires says_bytes<Rows> { return local.bytes(); }
  WHILST_HD T diagonal(index_type i) const requires requires { local.diagonal(i); }
  { return local.diagonal(i); }
  /// Throws whilst::error where the runner is not a group_recorder.
  template <class Run>
  rows_with_ghosts<T, Rows> before_apply([[maybe_unused]] Run& run, [[maybe_unused]] const T* x) const {
    if constexpr (std::is_same_v<Run, group_recorder>) {
      if (!is_mutual) run.agree();
      // On the host, one thread may do all rows.
      const bool sends =
          !run.where().on_host() && halo.sends <= std::min(local.rows(), most_sends_of_product / local.lanes_wanted());
      if (!sends) run.step("send what others read", halo.sends, send_entries<T>{halo, x});
      run.reads_halo({halo.state, x});
      return {local, halo, run.running(), sends};
    } else {
      throw error("recording a product of a distributed operator", "the other ranks do not take part",
                  "Record it by a group_recorder");
    }
  }
  /// Rows for products of two vectors at once, whose entries an earlier step has sent: send_two, or one that makes them
  /// and has what sends_of_two returns. A round of sums must lie between two exchanges.
  rows_with_ghosts_of_two<T, Rows> rows_of_two(const group_recorder& run) const {
    return {local, of_two, run.running()};
  }
  void send_two(group_recorder& run, const two_vectors<T>& x) const {
    run.step("send what others read", of_two.sends, send_two_entries<T>{of_two, x}, count_sent_round{of_two.state});
  }
  halo_sends_of_two<T> sends_of_two(const two_vectors<T>& x) const { return {{of_two}, x}; }
};

}  // namespace whilst
