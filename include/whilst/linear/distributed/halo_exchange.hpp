#pragma once

#include <bit>
#include <cstdint>

#include "whilst/basics/index_type.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/exchange/window.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"

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
  /// Waits for ghost g of a round, unless the loop whose flag is `running` has stopped: then nobody sends it. Returns
  /// whether it is there.
  WHILST_HD bool wait_for(index_type g, std::uint32_t expected, const int* running) const {
    bounded_wait wait(ranks.state->limit_nanoseconds);
    while (get_word(word_of(g, expected)).round != expected) {
      if (has_stopped(running) || ranks.read_lost()) return false;
      if (wait.is_over()) {
        ranks.note_lost(owners[g]);
        return false;
      }
    }
    return true;
  }
  WHILST_HD const tagged_word* word_of(index_type g, std::uint32_t of_round) const {
    return words + (of_round % 2) * ghosts + g;
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
/// that has not is no number, and is noted.
template <class T>
struct vector_with_ghosts {
  const halo_exchange& halo;
  const T* x;
  std::uint32_t round;
  std::int32_t* missing;  ///< receives the number of one that is
  WHILST_HD T operator[](index_type i) const {
    if (i < halo.own) return x[i];
    const index_type g = i - halo.own;
    const tagged_word word = look_at_word(halo.word_of(g, round), true);
    const bool is_there = word.round == round;
    if (!is_there) *missing = static_cast<std::int32_t>(g);
    return halo_exchange::value_of<T>(is_there ? word.value : ~std::uint64_t{0});
  }
  /// One that is known to be an own one.
  WHILST_HD T own(index_type i) const { return x[i]; }
  /// Entry i, or zero where that is negative: no branch, so that reads before and after it are in flight together.
  WHILST_HD T or_zero(index_type i) const {
    const bool is_own = i >= 0 && i < halo.own, is_ghost = i >= halo.own;
    const T own_or_zero = is_own ? x[i] : T(0);
    const index_type g = is_ghost ? i - halo.own : 0;
    // Both halves, so that this read does not wait for the one of the round's number.
    const tagged_word even = look_at_word(halo.word_of(g, 0), is_ghost),
                      odd = look_at_word(halo.word_of(g, 1), is_ghost), word = round % 2 ? odd : even;
    const bool is_there = word.round == round;
    if (is_ghost && !is_there) *missing = static_cast<std::int32_t>(g);
    const T ghost = halo_exchange::value_of<T>(is_there ? word.value : ~std::uint64_t{0});
    return is_ghost ? ghost : own_or_zero;
  }
};

/// For the step that makes a vector: sends the entries that others read, once each is in memory.
template <class T>
struct halo_sends {
  halo_exchange halo;
  const T* x;  ///< null for none

  /// The sends of an entry, and where the first one goes.
  struct of_entry {
    std::int32_t first, end;
    halo_target to;
  };
  /// What is constant, and takes a few reads one after the other.
  WHILST_HD of_entry fetch(index_type i) const {
    of_entry sends{};
    if (!x) return sends;
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
  /// By the thread that wrote entry i.
  WHILST_HD void send(index_type i, const of_entry& sends, std::uint32_t round) const {
    if (sends.first == sends.end) return;
    const T value = x[i];
    halo_exchange::send(sends.to, value, round);
    for (std::int32_t k = sends.first + 1; k < sends.end; ++k) halo_exchange::send(halo.targets[k], value, round);
  }
  /// By one thread, once all have read the round.
  WHILST_HD void note_round(std::uint32_t round) const {
    if (!x) return;
    halo.state->sent = round;
    halo.state->sent_ahead = x;
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

/// The memory of a halo_exchange; must outlive the program. One vector at a time goes through it.
class halo {
 public:
  /// Collective.
  halo(const exchange& ranks, const halo_plan& plan);
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
