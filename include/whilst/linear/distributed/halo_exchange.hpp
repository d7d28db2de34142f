#pragma once

#include <bit>
#include <cstdint>

#include "whilst/basics/index_type.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/exchange/window.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"

namespace whilst {

/// Where a neighbour keeps what it gets from this rank.
struct halo_target {
  index_type send_begin;  ///< the first of this rank's sends that is for it; they end where the next neighbour's begin
  tagged_word* lands_at;  ///< that one's word, of even rounds
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
  const std::int32_t* send_indices = nullptr;
  const halo_target* targets = nullptr;
  int target_count = 0;
  const tagged_word* words = nullptr;    ///< this rank's ghosts, both halves
  const std::int32_t* owners = nullptr;  ///< of each ghost: the rank
  halo_state* state = nullptr;
  /// Which own entries others read, 32 a word, and how many come before those of the word; for the o-th of them which
  /// sends it is: places[first_places[o]] to before places[first_places[o + 1]].
  struct entries_read {
    std::uint32_t bits, before;
  };
  const entries_read* read_by_others = nullptr;
  const std::int32_t *first_places = nullptr, *places = nullptr;
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
  /// Sends entry j of those to send.
  template <class T>
  WHILST_HD void send(index_type j, T value, std::uint32_t to_round) const {
    int k = 0;
    while (k + 1 < target_count && j >= targets[k + 1].send_begin) ++k;
    const halo_target& to = targets[k];
    put_word(to.lands_at + (to_round % 2) * to.half + (j - to.send_begin), {bits_of(value), to_round, 0});
  }
  /// Waits for ghost g of a round, unless the loop whose flag is `running` has stopped: then nobody sends it. A ghost
  /// of a rank that is lost is no number.
  template <class T>
  WHILST_HD T wait_for(index_type g, std::uint32_t expected, const int* running) const {
    const tagged_word* const from = words + (expected % 2) * ghosts + g;
    bounded_wait wait(ranks.state->limit_nanoseconds);
    while (true) {
      const tagged_word word = get_word(from);
      if (word.round == expected) return value_of<T>(word.value);
      if (has_stopped(running) || ranks.read_lost()) break;
      if (wait.is_over()) {
        ranks.note_lost(owners[g]);
        break;
      }
    }
    return value_of<T>(~std::uint64_t{0});
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
  template <class T>
  WHILST_HD static T value_of(std::uint64_t bits) {
    if constexpr (sizeof(T) == 8) {
      return std::bit_cast<T>(bits);
    } else {
      return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
    }
  }
};

/// A vector with ghosts, as rows read it: own entries where they are, ghosts from the words that come in.
template <class T>
struct vector_with_ghosts {
  const halo_exchange& halo;
  const T* x;
  std::uint32_t round;
  const int* running;
  WHILST_HD T operator[](index_type i) const {
    return i < halo.own ? x[i] : halo.template wait_for<T>(i - halo.own, round, running);
  }
  /// One that is known to be an own one.
  WHILST_HD T own(index_type i) const { return x[i]; }
};
/// The same where ghosts are taken for zero, and it is noted that there is one.
template <class T>
struct vector_without_ghosts {
  index_type own_entries;
  const T* x;
  bool* has_ghosts;
  WHILST_HD T operator[](index_type i) const {
    if (i < own_entries) return x[i];
    *has_ghosts = true;
    return 0;
  }
  WHILST_HD T own(index_type i) const { return x[i]; }
};

/// For the step that makes a vector: sends the entries that others read, once each is in memory.
template <class T>
struct halo_sends {
  halo_exchange halo;
  const T* x;  ///< null for none

  /// What is constant.
  WHILST_HD halo_exchange::entries_read fetch(index_type i) const {
    return x ? halo.read_by_others[i / 32] : halo_exchange::entries_read{};
  }
  WHILST_HD std::uint32_t next_round() const { return halo.state->sent + 1; }
  /// By the thread that wrote entry i.
  WHILST_HD void send(index_type i, const halo_exchange::entries_read& of, std::uint32_t round) const {
    const std::uint32_t bit = std::uint32_t{1} << (i % 32);
    if (!(of.bits & bit)) return;
    const std::uint32_t ordinal = of.before + count_bits(of.bits & (bit - 1));
    const T value = x[i];
    for (std::int32_t k = halo.first_places[ordinal]; k < halo.first_places[ordinal + 1]; ++k)
      halo.send(halo.places[k], value, round);
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
  buffer<std::int32_t> first_places_, places_;
  halo_exchange of_steps_;
  bool is_mutual_ = true;
};

}  // namespace whilst
