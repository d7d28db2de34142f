#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#if !defined(__CUDA_ARCH__)
#include <chrono>
#include <thread>
#endif

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/exchange/tagged_word.hpp"

namespace whilst {

/// What the steps of one rank remember from round to round. In memory of its place.
struct exchange_state {
  std::uint32_t round = 0;              ///< the last one that this rank has given its share to
  std::uint32_t flags = 0;              ///< that came in with words, since the last launch
  std::uint32_t lost = 0;               ///< 1 + the rank that did not come; 0 for none
  std::uint32_t is_open = 0;            ///< whether the last round may have been given without being taken
  std::uint64_t armed_at = 0;           ///< when the root loop was, the last time that this rank looked
  std::uint64_t limit_nanoseconds = 0;  ///< how long a rank waits for another
};

/// A wait for another rank, which ends: calls is_over() between looks, and thinks of the clock now and then.
class bounded_wait {
  std::uint64_t limit_, began_ = 0;
  unsigned looks_ = 0;

 public:
  WHILST_HD explicit bounded_wait(std::uint64_t limit_nanoseconds) : limit_(limit_nanoseconds) {}
  WHILST_HD bool is_over() {
    rest(++looks_);
    if (looks_ % 64 != 0) return false;
    const std::uint64_t now = now_nanoseconds();
    if (began_ == 0) began_ = now;
    return now - began_ > limit_;
  }
  /// Whether is_over() has just thought of the clock: the time for other looks that are not to be frequent.
  WHILST_HD bool looks_around() const { return looks_ % 64 == 0; }

 private:
  /// On the host ranks may share a processor, which one that waits long leaves to others.
  static WHILST_HD void rest([[maybe_unused]] unsigned looks) {
#if !defined(__CUDA_ARCH__)
    if (looks < 256) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
#endif
  }
};

/// How the steps of one rank exchange sums with those of the others; copied into steps. All ranks record the same
/// steps, so that they are in the same round, and get the same totals to the last bit: see docs/several-gpus.md.
///
/// Round e is that of the words with number e, which are in half e % 2 of each mailbox. A rank gives its words of round
/// e + 2 when it has everybody's of round e + 1, who gave those after they had read round e.
struct group_exchange {
  static constexpr int words_at_most = 128;

  static constexpr int mailboxes_here = 8;

  int rank = 0, ranks = 1;
  /// Of each rank, as this one writes to it, with words_at_most words for each half and rank: the first ones here,
  /// where kernels have them at once; all in memory of the place.
  tagged_word* here[mailboxes_here] = {};
  tagged_word* const* all = nullptr;
  const tagged_word* own = nullptr;  ///< this rank's
  exchange_state* state = nullptr;

  template <class Total>
  static constexpr int words_of = static_cast<int>((sizeof(Total) + 7) / 8);

  WHILST_HD tagged_word* mailbox(int q) const { return q < mailboxes_here ? here[q] : all[q]; }
  WHILST_HD index_type place_of(std::uint32_t round, int from) const {
    return ((round % 2) * static_cast<index_type>(ranks) + from) * words_at_most;
  }

  // Flags that travel with words.
  static constexpr std::uint32_t wants_cancel = 1, is_late = 2, has_lost = 4;
  static constexpr int rank_bits = 8;  ///< above these: 1 + the rank that was lost

  /// Begins a round: sends this rank's totals and flags to every rank, itself too. By one thread.
  template <class Total>
  WHILST_HD void give(const Total& total, std::uint32_t round, std::uint32_t flags) const {
    constexpr int count = words_of<Total>;
    static_assert(count <= words_at_most, "a step has more sums than a mailbox has room for");
    std::uint64_t words[count] = {};
    memcpy(words, &total, sizeof(Total));
    for (int q = 0; q < ranks; ++q) {
      tagged_word* const to = mailbox(q) + place_of(round, rank);
      for (int k = 0; k < count; ++k) put_word(to + k, {words[k], round, flags});
    }
    state->round = round;
  }

  /// Waits until all ranks have begun a round that this one may not have taken. So all have taken the one before, whose
  /// place the next round takes.
  WHILST_HD void wait_for_all(std::uint32_t round) const {
    for (int q = 0; q < ranks; ++q) wait_for_first_word(own + place_of(round, q), round, q, state);
  }

  /// What a wait must know: read it early.
  struct round_to_end {
    std::uint32_t round, lost;
  };
  WHILST_HD round_to_end begun() const { return {state->round, state->lost}; }
  /// Waits for the totals of rank q in the round that began last. Where that rank is lost, or another one was, they are
  /// no numbers.
  template <class Total>
  WHILST_HD Total of_rank(int q, const round_to_end& begun) const {
    constexpr int count = words_of<Total>;
    const std::uint32_t round = begun.round;
    const tagged_word* const from = own + place_of(round, q);
    std::uint64_t words[count];
    std::uint32_t flags = 0;
    bool is_there = begun.lost == 0;
    for (int k = 0; is_there && k < count; k += at_once) is_there = wait_for<count>(from, k, round, q, words, flags);
    if (flags) note(state, flags);
    Total total;
    if (!is_there) memset(words, 0xff, sizeof words);  // NaN of either precision
    memcpy(&total, words, sizeof(Total));
    return total;
  }

  /// For waits: who did not come. The first that is noted stays.
  WHILST_HD static void note_lost(exchange_state* state, int q) {
    note(state, has_lost | static_cast<std::uint32_t>(q + 1) << rank_bits);
  }
  WHILST_HD static std::uint32_t read_lost(exchange_state* state) { return read_now(state->lost); }
  /// What other threads of this step may have noted meanwhile.
  WHILST_HD void read_noted(exchange_state& into) const {
    into.flags = read_now(state->flags);
    into.lost = read_now(state->lost);
  }

 private:
  static constexpr int at_once = 8;  ///< reads in flight

  // Seldom run: apart, and given values alone, as halo_exchange::wait_for_word.
  WHILST_NOINLINE WHILST_HD static void wait_for_first_word(const tagged_word* from, std::uint32_t round, int q,
                                                            exchange_state* state) {
    bounded_wait wait(state->limit_nanoseconds);
    while (get_word(from).round != round && !read_lost(state))
      if (wait.is_over()) note_lost(state, q);
  }

  /// Words k to k + at_once - 1, as far as there are.
  template <int count>
  WHILST_HD bool wait_for(const tagged_word* from, int k, std::uint32_t round, int q, std::uint64_t (&words)[count],
                          std::uint32_t& flags) const;
  WHILST_HD static std::uint32_t read_now(std::uint32_t& of) {
#if defined(__CUDA_ARCH__)
    return *static_cast<const volatile std::uint32_t*>(&of);
#else
    return std::atomic_ref(of).load(std::memory_order_relaxed);
#endif
  }
  /// Adds flags that came in. By any thread.
  WHILST_HD static void note(exchange_state* state, std::uint32_t flags) {
    const std::uint32_t lost = flags & has_lost ? flags >> rank_bits : 0;
#if defined(__CUDA_ARCH__)
    atomicOr(&state->flags, flags & (wants_cancel | is_late | has_lost));
    if (lost) atomicCAS(&state->lost, 0u, lost);
#else
    std::atomic_ref(state->flags).fetch_or(flags & (wants_cancel | is_late | has_lost), std::memory_order_relaxed);
    std::uint32_t nobody = 0;
    if (lost) std::atomic_ref(state->lost).compare_exchange_strong(nobody, lost, std::memory_order_relaxed);
#endif
  }
};

template <int count>
WHILST_HD bool group_exchange::wait_for(const tagged_word* from, int k, std::uint32_t round, int q,
                                        std::uint64_t (&words)[count], std::uint32_t& flags) const {
  constexpr int most = count < at_once ? count : at_once;
  bounded_wait wait(state->limit_nanoseconds);
  tagged_word read[most];
  while (true) {
    bool all = true;
    // All are read before any is looked at.
    WHILST_UNROLLED
    for (int j = 0; j < most; ++j) read[j] = get_word(from + (k + j < count ? k + j : count - 1));
    WHILST_UNROLLED
    for (int j = 0; j < most; ++j) all &= read[j].round == round;
    if (all) break;
    if (read[0].round == round && (read[0].flags & has_lost)) {  // the rest may never come
      flags |= read[0].flags;
      return false;
    }
    if (wait.is_over()) {
      note_lost(state, q);
      return false;
    }
    if (wait.looks_around() && read_lost(state)) return false;  // another thread has waited in vain
  }
  WHILST_UNROLLED
  for (int j = 0; j < most; ++j) {
    if (k + j < count) words[k + j] = read[j].value;
  }
  flags |= read[0].flags;
  return true;
}

/// What a rank remembers of a halo from step to step. In memory of its place.
struct halo_state {
  std::uint32_t sent;      ///< the round that was sent last
  const void* sent_ahead;  ///< the vector that the step which made it sent, if no product has read it yet; else null
};
/// The finish of a step whose map, a product of x, read what others sent: it ends the round.
struct end_halo_round {
  halo_state* state = nullptr;  ///< null: there is none
  const void* x = nullptr;
  WHILST_HD void operator()() const {
    if (state->sent_ahead != x) state->sent += 1;
    state->sent_ahead = nullptr;
  }
};

/// The finish that begins a round: gives the totals of this rank, with what is asked of the root loop here, and makes
/// what came in with the last round what all ranks have agreed on.
template <class Total>
struct give_sums {
  group_exchange ranks;
  control* root;             ///< null outside loops
  end_halo_round halo = {};  ///< that of the step's map, if it has one
  bool stays_open = false;   ///< the step that takes the sums may not run: see group_recorder::give

  struct known {
    exchange_state state;
    outside_wish wish;
    std::uint64_t armed_at;
  };
  WHILST_HD known read() const {
    known now{*ranks.state, {}, 0};
    if (root) {
      now.wish = {root->cancel_request_here(), root->outside.launch, root->outside.deadline_at, 0};
      now.armed_at = root->started_at;
    }
    return now;
  }
  WHILST_HD void operator()(const Total& total, const known& before) const {
    if (before.state.is_open) ranks.wait_for_all(before.state.round);
    std::uint32_t lost = before.state.is_open ? group_exchange::read_lost(ranks.state) : before.state.lost;
    // The map itself may have waited in vain, for what it multiplied.
    for (const auto& one : total.value)
      if (!is_finite(static_cast<double>(one))) lost = group_exchange::read_lost(ranks.state);
    std::uint32_t flags = lost ? group_exchange::has_lost | lost << group_exchange::rank_bits : 0;
    if (root) flags |= agree(before);
    if (before.state.is_open || stays_open) ranks.state->is_open = stays_open;
    ranks.give(total, before.state.round + 1, flags);
    if (halo.state) halo();
  }

 private:
  /// From its first round on the loop obeys what is agreed on, not what is asked of this rank.
  WHILST_HD std::uint32_t agree(const known& before) const {
    std::uint32_t seen = before.state.flags;
    if (before.state.armed_at != before.armed_at) {  // what is here is of another run
      ranks.state->armed_at = before.armed_at;
      ranks.state->flags = seen &= group_exchange::has_lost;
    }
    root->outside.agreed = outside_wish::agreed_on(seen & group_exchange::has_lost       ? reason::peer_lost
                                                   : seen & group_exchange::wants_cancel ? reason::cancelled
                                                   : seen & group_exchange::is_late      ? reason::deadline
                                                                                         : reason::running);
    return (before.wish.cancelled() ? group_exchange::wants_cancel : 0u) |
           (before.wish.is_late() ? group_exchange::is_late : 0u);
  }
};

/// The map that ends it, at index q: the totals of rank q. The step adds them up as it adds up any sums.
template <class Total>
struct sums_of_ranks {
  group_exchange ranks;
  WHILST_HD group_exchange::round_to_end read(index_type) const { return ranks.begun(); }
  WHILST_HD Total operator()(index_type q, const group_exchange::round_to_end& begun) const {
    return ranks.template of_rank<Total>(static_cast<int>(q), begun);
  }
};

/// After the root loop: where a rank is lost, sums are no numbers, and whatever finishes made of them is not the
/// reason.
struct blame_lost_rank {
  const exchange_state* state;
  control* root;
  WHILST_HD void operator()() const {
    if (state->lost) root->why = reason::peer_lost;
  }
};

/// In place of halo_sends, of a step that makes nothing that others read.
struct no_sends {
  struct of_entry {};
  WHILST_HD of_entry fetch(index_type) const { return {}; }
  WHILST_HD std::uint32_t next_round() const { return 0; }
  WHILST_HD void send(index_type, const of_entry&, std::uint32_t) const {}
  WHILST_HD void note_round(std::uint32_t) const {}
};

/// A map for a round in which nothing is added up.
struct no_sums_to_add {
  WHILST_HD sums<double, 1> operator()(index_type) const { return {}; }
};
struct nothing_to_finish {
  WHILST_HD void operator()(const sums<double, 1>&) const {}
};

}  // namespace whilst
