#pragma once

#include <algorithm>
#include <type_traits>

#include "whilst/exchange/group_recorder.hpp"
#include "whilst/linear/distributed/halo_exchange.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

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
    // Ghosts are mostly there when a row is read. Where one is not, the row is read once more after a wait. Code for
    // waits is apart: at each entry it would take longer to fetch than all rows of a small slab take. That for rows is
    // here alone: two copies, of which one is run where a ghost is late, may round differently.
    bool is_to_send = sends && i < halo.sends && !now.is_sent, waits = true;
    Fetched entries = fetched;
    WHILST_ROLLED
    while (true) {
      std::int32_t missing = none;
      const T sum = row_times(entries, local, i, vector_with_ghosts<T>{halo, x, now.round, &missing}, team);
      if (is_to_send) [[unlikely]]
        send(i, x, now.round, team.rank());
      is_to_send = false;
      if (!is_any(missing != none && waits, team)) [[likely]]
        return sum;
      if (missing != none && waits) waits = wait_for(missing, now.round);
      entries = fetch_row(local, i, team);
    }
  }
  /// For a step that makes the vector to multiply next; null for none.
  halo_sends<T> sends_of(const T* made) const { return {halo, made}; }

 private:
  static constexpr std::int32_t none = -1;
  /// Whether it holds for any of the lanes that must read a row together: those of the team, and where its sums take
  /// the whole warp, all of that.
  template <class Team>
  WHILST_HD static bool is_any(bool holds, const Team& team) {
    if constexpr (requires { team.any_of_warp(holds); }) {
      return team.any_of_warp(holds);
    } else {
      return team.sum(holds ? 1 : 0) != 0;
    }
  }
  WHILST_NOINLINE WHILST_HD void send(index_type i, const T* x, std::uint32_t round, int rank_in_team) const {
    if (rank_in_team == 0 && !halo.has_stopped(running))
      halo_exchange::send(halo.targets[i], x[halo.send_indices[i]], round);
  }
  /// Where it is in vain, the ghost stays what it is, no number.
  WHILST_NOINLINE WHILST_HD bool wait_for(std::int32_t ghost, std::uint32_t round) const {
    return halo.wait_for(ghost, round, running);
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

/// The rows that a rank has of a distributed operator. Rows is the operator of these: it numbers own columns from 0 and
/// ghosts after them, and reads x by x[i]. It has no row of its own: methods get rows for a vector whose entries have
/// been sent, so that none can forget that. For a group_recorder.
template <class T, class Rows>
struct distributed_operator {
  static constexpr bool runs_in_kernel = false;
  /// Up to so many entries, less where lanes share a row, each is sent by a thread of its own before that waits for
  /// anything: 64 multiprocessors with 512 threads each. With more, a step of its own takes no time that counts.
  static constexpr index_type most_sends_of_product = 32768;
  Rows local;
  halo_exchange halo;
  bool is_mutual;  ///< see halo
  index_type rows_of_all;

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
};

}  // namespace whilst
