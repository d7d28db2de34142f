#pragma once

#include <bit>
#include <cstdint>

#include "whilst/basics/index_type.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/exchange/window.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// Where a neighbour keeps an entry that it gets from this rank.
struct halo_target {
  tagged_word* lands_at;  ///< its word of even rounds
  index_type half;        ///< how many words later that of odd rounds lies
};

/// How the steps of one rank exchange the entries of a vector that others read; copied into steps. See halo_plan.
///
/// A step exchanges a vector: its first threads send what others read, before any waits for what it reads itself. So no
/// rank waits for another that waits for it. Each exchange is a round of its own count. Words of round e are in half e
/// % 2 of the ghosts. A rank sends round e + 2 when it has read round e + 1, which its neighbours sent after they had
/// read round e; where a neighbour sends nothing back, a round of sums lies between: see halo::is_mutual.
struct halo_exchange {
  index_type own = 0, ghosts = 0, sends = 0;
  int vectors = 1;                             ///< exchanged at once; a ghost has a word of each, side by side
  const std::int32_t* send_indices = nullptr;  ///< which entry each send is of; ascending
  const halo_target* targets = nullptr;        ///< where it goes
  const tagged_word* words = nullptr;          ///< this rank's ghosts, both halves
  const std::int32_t* owners = nullptr;        ///< of each ghost: the rank
  halo_state* state = nullptr;
  /// Which own entries others read, 32 a word, and how many come before those of the word. The o-th of them is sent by
  /// first_sends[o] to before first_sends[o + 1].
  struct entries_read {
    std::uint32_t bits, before;
  };
  const entries_read* read_by_others = nullptr;
  const std::int32_t* first_sends = nullptr;
  group_exchange ranks;

  /// The round in which the ghosts of x come, and whether its entries have been sent.
  struct round_of_vector {
    std::uint32_t round;
    bool is_sent;
  };
  WHILST_HD round_of_vector round_of(const void* x) const {
    const bool is_sent = state->sent_ahead == x;
    return {state->sent + !is_sent, is_sent};
  }

  /// Whether the loop with this flag has; null for none.
  WHILST_HD static bool has_stopped(const int* running) {
    return running && !*static_cast<const volatile int*>(running);
  }
  template <class T>
  WHILST_HD static void send(const halo_target& to, T value, std::uint32_t to_round) {
    put_word(to.lands_at + (to_round % 2) * to.half, {bits_of(value), to_round, 0});
  }
  template <class T>
  WHILST_HD static void send_two(const halo_target& to, const two<T>& values, std::uint32_t to_round) {
    send(to, values.first, to_round);
    send({to.lands_at + 1, to.half}, values.second, to_round);
  }
  /// Waits for word k of a round, unless the loop whose flag is `running` has stopped: then nobody sends it. Returns
  /// whether it is there.
  WHILST_HD bool wait_for(index_type k, std::uint32_t expected, const int* running) const {
    return wait_for_word(word_of(k, expected), expected, running, ranks.state, owners + k / vectors);
  }
  /// Ghost g of a round of one vector, after a wait; no number where that was in vain.
  template <class T>
  WHILST_HD T awaited(index_type g, std::uint32_t expected, const int* running) const {
    tagged_word word = get_word(word_of(g, expected));
    if (word.round != expected) {
      const bool is_there = wait_for(g, expected, running);
      word.value = is_there ? get_word(word_of(g, expected)).value : ~std::uint64_t{0};
    }
    return value_of<T>(word.value);
  }
  WHILST_HD const tagged_word* word_of(index_type k, std::uint32_t of_round) const {
    return words + (of_round % 2) * ghosts * vectors + k;
  }
  template <class T>
  WHILST_HD static T value_of(std::uint64_t bits) {
    if constexpr (sizeof(T) == 8) {
      return std::bit_cast<T>(bits);
    } else {
      return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
    }
  }

 private:
  // Apart, since its code would take longer to fetch than all rows of a small slab take; and given values alone: the
  // address of a kernel's parameter is none that compute-sanitizer knows.
  WHILST_NOINLINE WHILST_HD static bool wait_for_word(const tagged_word* word, std::uint32_t expected,
                                                      const int* running, exchange_state* state,
                                                      const std::int32_t* owner) {
    bounded_wait wait(state->limit_nanoseconds);
    while (get_word(word).round != expected) {
      if (has_stopped(running) || group_exchange::read_lost(state)) return false;
      if (wait.is_over()) {
        group_exchange::note_lost(state, *owner);
        return false;
      }
    }
    return true;
  }
  template <class T>
  WHILST_HD static std::uint64_t bits_of(T value) {
    if constexpr (sizeof(T) == 8) {
      return std::bit_cast<std::uint64_t>(value);
    } else {
      return std::bit_cast<std::uint32_t>(value);
    }
  }
};

/// A vector with ghosts, as rows read it: own entries where they are, ghosts from the words that have come in. A ghost
/// that has not is no number, and its word is noted. vectors: how many the halo exchanges at once.
template <class T, int vectors = 1>
class vector_with_ghosts {
  const T* x_;
  std::uint32_t own_, round_;
  std::int32_t which_;
  const tagged_word *even_, *odd_, *current_;
  std::int32_t* missing_;

  WHILST_HD bool is_own(std::int32_t i) const { return static_cast<std::uint32_t>(i) < own_; }
  /// The number of a ghost's word among those of the first vector, which are as far apart as those of another.
  WHILST_HD std::int32_t word_of(std::int32_t i) const {
    return static_cast<std::int32_t>(vectors * (static_cast<std::uint32_t>(i) - own_));
  }
  WHILST_HD void note_missing(std::int32_t word) const { *missing_ = word + which_; }

 public:
  /// missing receives the number of a word that is; which: of the vectors.
  WHILST_HD vector_with_ghosts(const halo_exchange& halo, const T* x, std::uint32_t round, std::int32_t* missing,
                               int which = 0)
      : x_(x),
        own_(static_cast<std::uint32_t>(halo.own)),
        round_(round),
        which_(which),
        even_(halo.words + which),
        odd_(even_ + vectors * halo.ghosts),
        current_(round % 2 ? odd_ : even_),
        missing_(missing) {}
  WHILST_HD T operator[](std::int32_t i) const {
    if (is_own(i)) return x_[i];
    const std::int32_t k = word_of(i);
    const tagged_word word = look_at_word(current_ + k, true);
    const bool is_there = word.round == round_;
    if (!is_there) note_missing(k);
    return halo_exchange::value_of<T>(is_there ? word.value : ~std::uint64_t{0});
  }
  /// One that is known to be an own one.
  WHILST_HD T own(std::int32_t i) const { return x_[i]; }
  /// Entry i, or zero where that is negative: no branch, so that reads before and after it are in flight together. Of a
  /// ghost both halves, so that this read does not wait for the one of the round's number.
  WHILST_HD T or_zero(std::int32_t i) const {
    const bool is_ghost = i >= 0 && !is_own(i);
    const T own_or_zero = is_own(i) ? x_[i] : T(0);
    const std::int32_t k = is_ghost ? word_of(i) : 0;
    const tagged_word even = look_at_word(even_ + k, is_ghost), odd = look_at_word(odd_ + k, is_ghost);
    const bool is_odd = round_ % 2;
    const std::uint64_t value = is_odd ? odd.value : even.value;
    const bool is_there = (is_odd ? odd.round : even.round) == round_;
    if (is_ghost && !is_there) note_missing(k);
    return is_ghost ? halo_exchange::value_of<T>(is_there ? value : ~std::uint64_t{0}) : own_or_zero;
  }
};

/// Two of them, which a row reads at once by [] alone.
template <class T>
struct two_with_ghosts {
  vector_with_ghosts<T, 2> first, second;
  WHILST_HD two_with_ghosts(const halo_exchange& halo, const two_vectors<T>& x, std::uint32_t round,
                            std::int32_t* missing)
      : first(halo, x.first, round, missing, 0), second(halo, x.second, round, missing, 1) {}
  WHILST_HD two<T> operator[](std::int32_t i) const { return {first[i], second[i]}; }
};

/// The sends of an entry that others read, for the step that makes it.
struct sends_of_entries {
  halo_exchange halo;

  /// Those of one entry, and where the first one goes.
  struct of_entry {
    std::int32_t first, end;
    halo_target to;
  };
  /// What is constant, and takes a few reads one after the other.
  WHILST_HD of_entry fetch(index_type i) const {
    of_entry sends{};
    const halo_exchange::entries_read word = halo.read_by_others[i / 32];
    const std::uint32_t bit = std::uint32_t{1} << (i % 32);
    if (!(word.bits & bit)) return sends;
    const std::int32_t* const first = halo.first_sends + word.before + count_bits(word.bits & (bit - 1));
    sends.first = first[0];
    sends.end = first[1];
    sends.to = halo.targets[sends.first];
    return sends;
  }
  WHILST_HD std::uint32_t next_round() const { return halo.state->sent + 1; }
  /// Calls put(where one goes) for each.
  template <class Put>
  WHILST_HD void each(const of_entry& sends, const Put& put) const {
    if (sends.first == sends.end) return;
    put(sends.to);
    for (std::int32_t k = sends.first + 1; k < sends.end; ++k) put(halo.targets[k]);
  }

 private:
  WHILST_HD static std::uint32_t count_bits(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return static_cast<std::uint32_t>(__popc(bits));
#else
    return static_cast<std::uint32_t>(std::popcount(bits));
#endif
  }
};

/// For the step that makes a vector: sends the entries that others read, once each is in memory.
template <class T>
struct halo_sends : sends_of_entries {
  const T* x;  ///< null for none

  WHILST_HD of_entry fetch(index_type i) const { return x ? sends_of_entries::fetch(i) : of_entry{}; }
  /// By the thread that wrote entry i.
  WHILST_HD void send(index_type i, const of_entry& sends, std::uint32_t round) const {
    if (sends.first == sends.end) return;
    const T value = x[i];
    each(sends, [&](const halo_target& to) { halo_exchange::send(to, value, round); });
  }
  /// By one thread, once all have read the round.
  WHILST_HD void note_round(std::uint32_t round) const {
    if (!x) return;
    halo.state->sent = round;
    halo.state->sent_ahead = x;
  }
};
/// The same of two vectors, which the next step reads.
template <class T>
struct halo_sends_of_two : sends_of_entries {
  two_vectors<T> x;

  WHILST_HD void send(index_type i, const of_entry& sends, std::uint32_t round) const {
    if (sends.first == sends.end) return;
    const two<T> value = x[i];
    each(sends, [&](const halo_target& to) { halo_exchange::send_two(to, value, round); });
  }
  WHILST_HD void note_round(std::uint32_t round) const { halo.state->sent = round; }
};

/// The memory of a halo_exchange; must outlive the program. One vector at a time goes through it, or so many at once.
class halo {
 public:
  /// Collective.
  halo(const exchange& ranks, const halo_plan& plan, int vectors = 1);
  const halo_exchange& of_steps() const { return of_steps_; }
  /// Whether each neighbour of any rank that gets something from it also sends it something. Where not, a round of sums
  /// must lie between two exchanges, or a rank could run ahead.
  bool is_mutual() const { return is_mutual_; }
  /// See exchange::recover. Collective.
  void recover();

 private:
  group ranks_;
  window words_;
  buffer<std::int32_t> send_indices_, owners_;
  buffer<halo_target> targets_;
  buffer<halo_state> state_;
  buffer<halo_exchange::entries_read> read_by_others_;
  buffer<std::int32_t> first_sends_;
  halo_exchange of_steps_;
  bool is_mutual_ = true;
};

}  // namespace whilst
