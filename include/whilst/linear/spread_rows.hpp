#pragma once

#include <bit>
#include <cstdint>

#include "whilst/engine/steps/cluster_team.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// A CSR matrix for a team of several blocks (see cluster_team.hpp), in whose memory the vectors are spread. Each
/// thread copies the first entries of its rows to where a warp reads them side by side: read in the order of CSR, they
/// are a row's length apart, and each of a warp's reads touches as many lines of the cache as a row is long. Instead of
/// columns the copy has the places that the team finds entries of vectors by, worked out once a solve. Adds up in the
/// order of csr_operator. For other teams it is one.
///
/// A place and the upper half of a double, or a float, are one word. The lower halves lie apart: those of integers up
/// to 2^21, and of these times powers of two, are 0, and a thread with no others in its rows does not read them.
template <class T, class Offset, class Values>
struct spread_csr_operator : csr_operator<T, Offset, Values> {
  using csr = csr_operator<T, Offset, Values>;
  using csr::row;
  static constexpr bool takes_two_vectors = false, fetches_constants = false;

  WHILST_HD explicit spread_csr_operator(const csr& matrix) : csr(matrix) {}

  index_type bytes_of_copy(const block_share& share) const {
    constexpr index_type bytes = sizeof(std::uint64_t) + (has_lower_halves ? sizeof(std::uint32_t) : 0);
    return entries_of_copy(share, entries_held) * bytes;
  }
  /// Call on all threads, with memory of their block for the copy. `anywhere`: an address that the block's share of a
  /// vector could have; places are distances from there, the same for all vectors.
  template <class Team>
  WHILST_HD void copy_rows(const Team& team, std::byte* memory, const void* anywhere) {
    const block_share own = team.share();
    const auto x = team.gathered(static_cast<const T*>(anywhere) - own.first);
    const auto group = Team::divided(this->lanes_a_row);
    // So that a lane's first entry in row i is at first_entry(i): the threads of a warp work on rows side by side.
    const index_type lane = team.rank_in_block() % side_by_side;
    const index_type row_0 = group.rank() * held - lane * (held - 1) - own.first * group.size() * held;
    words = reinterpret_cast<std::uint64_t*>(memory) + row_0;
    lower_halves = reinterpret_cast<std::uint32_t*>(memory + entries_of_copy(own, held) * 8) + row_0;
#if defined(__CUDA_ARCH__)
    // The compiler would work them out again in each row; but it forgets what memory they point into.
    asm("" : "+l"(words), "+l"(lower_halves));
    __builtin_assume(__isGlobal(words));
    __builtin_assume(__isGlobal(lower_halves));
#endif
    for_own_indices(team, group.size(), this->n, [&](index_type i) {
      const auto e = csr::fetch(i, group);
      const int first = first_entry(static_cast<int>(i), group);
      for (int j = 0; j < held; ++j) {
        const std::int32_t place = e.column[j] < 0 ? nowhere : x.place_of(e.column[j]);
        words[first + j * side_by_side] = with_place(e.value[j], place);
        if constexpr (has_lower_halves) {
          lower_halves[first + j * side_by_side] = lower_half(e.value[j]);
          has_lower = has_lower || lower_half(e.value[j]) != 0;
        }
      }
      const Offset begin = this->row_offsets[i], length = this->row_offsets[i + 1] - begin;
      for (int pieces = most_pieces + 1; pieces <= held + 1; ++pieces)
        if (length > static_cast<Offset>((pieces - 1) * group.size())) most_pieces = pieces;
    });
    is_one_piece = group.size() == 1 && most_pieces <= held;
  }

  /// What is read ahead of a row that is copied.
  struct nothing_yet {};
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    if constexpr (requires { team.gathered(static_cast<const T*>(nullptr)); }) {
      return nothing_yet();
    } else {
      return csr::fetch(i, team);
    }
  }
  /// x: what the team gathers; two vectors are none.
  template <class X, class Team>
  WHILST_HD T row(const nothing_yet&, index_type i, const X& x, const Team& team) const {
    const int row = static_cast<int>(i), first = first_entry(row, team);
    std::uint64_t word[held];
    std::uint32_t lower[held] = {};
    T factor[held], sum{};
    for_held([&](int j) { word[j] = may_have(j) ? words[first + j * side_by_side] : no_entry; });
    if (has_lower_halves && has_lower)
      for_held([&](int j) { lower[j] = may_have(j) ? lower_halves[first + j * side_by_side] : 0; });
    for_held([&](int j) { factor[j] = x.at_place(static_cast<std::int32_t>(word[j])); });
    for_held([&](int j) { sum += value_of(word[j], lower[j]) * factor[j]; });
    if (!is_one_piece) {
      if (most_pieces > held) add_rest(sum, row, x, team);
      sum = team.sum(sum);
    }
    return sum;
  }

 private:
  static constexpr int held = csr::entries::held;
  static constexpr int side_by_side = on_device ? 32 : 1;  ///< threads of a warp; of the host, each is alone
  static constexpr std::int32_t nowhere = -1;
  static constexpr std::uint64_t no_entry = 0xffffffff;  ///< 0, nowhere
  static constexpr bool has_lower_halves = sizeof(T) == 8;

  WHILST_HD static std::uint32_t lower_half(T value) {
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value));
  }
  WHILST_HD static std::uint64_t with_place(T value, std::int32_t place) {
    std::uint64_t upper;
    if constexpr (has_lower_halves) {
      upper = std::bit_cast<std::uint64_t>(value) >> 32;
    } else {
      upper = std::bit_cast<std::uint32_t>(value);
    }
    return upper << 32 | static_cast<std::uint32_t>(place);
  }
  WHILST_HD static T value_of(std::uint64_t word, [[maybe_unused]] std::uint32_t lower) {
    if constexpr (has_lower_halves) {
      return std::bit_cast<T>(word >> 32 << 32 | lower);
    } else {
      return std::bit_cast<T>(static_cast<std::uint32_t>(word >> 32));
    }
  }

  WHILST_HD index_type entries_of_copy(const block_share& share, int of_each_lane) const {
    constexpr int warp = 32;
    const index_type rows = this->n < share.size() ? this->n : share.size();
    return (rows * this->lanes_a_row + warp - 1) / warp * warp * of_each_lane;
  }
  template <class Team>
  WHILST_HD static int first_entry(int i, const Team& team) {
    return i * (team.size() * held);
  }
  template <class Function>
  WHILST_HD static void for_held(const Function& f) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) f(j);
  }
  /// Whether a row of this thread's may have an entry in piece j. Stencils in one, two and three dimensions have 3, 5
  /// and 7 entries a row: to tell more apart would cost more than it saves. The first pieces are tested, too, since
  /// ptxas moves reads without a condition behind the branch that follows, where each waits for the one before.
  WHILST_HD bool may_have(int j) const { return most_pieces > (j < 3 ? 0 : j < 5 ? 3 : 5); }
  template <class X, class Team>
  WHILST_HD void add_rest(T& sum, int i, const X& x, const Team& team) const {
    typename csr::entries e;
    e.next = this->row_offsets[i] + static_cast<Offset>(held * team.size() + team.rank());
    e.end = this->row_offsets[i + 1];
    while (e.next < e.end) {
      this->load(e, team);
      sum += this->times(e, x);
    }
  }

  std::uint64_t* words = nullptr;
  std::uint32_t* lower_halves = nullptr;
  /// Pieces of this thread's longest row, each with an entry for every lane; held + 1 if not all are copied.
  int most_pieces = 0;
  bool has_lower = false;     ///< some lower half of this thread's is not 0
  bool is_one_piece = false;  ///< each row of this thread's: one lane, and all copied
};

/// An operator as teams of several blocks use it.
template <class Operator>
struct spread_over_blocks {
  using type = Operator;
};
template <class T, class Offset, class Values>
struct spread_over_blocks<csr_operator<T, Offset, Values>> {
  using type = spread_csr_operator<T, Offset, Values>;
};

/// What each of several blocks needs for a copy of its rows.
template <class Operator>
index_type bytes_of_rows(const Operator& A, const block_share& share) {
  const typename spread_over_blocks<Operator>::type spread(A);
  if constexpr (requires { spread.bytes_of_copy(share); }) {
    return spread.bytes_of_copy(share);
  } else {
    return 0;
  }
}

}  // namespace whilst
