#pragma once

#include "whilst/engine/steps/cluster_team.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// A CSR matrix for a team of several blocks (see cluster_team.hpp), in whose memory the vectors are spread. Each
/// thread copies the first entries of its rows to where a warp reads them side by side: read in the order of CSR, they
/// are a row's length apart, and each of a warp's reads touches as many lines of the cache as a row is long. Instead of
/// columns the copy has the places that the team finds entries of vectors by, worked out once a solve. Adds up in the
/// order of csr_operator. For other teams it is one.
template <class T, class Offset, class Values>
struct spread_csr_operator : csr_operator<T, Offset, Values> {
  using csr = csr_operator<T, Offset, Values>;
  using csr::row;
  static constexpr bool takes_two_vectors = false, fetches_constants = false;

  WHILST_HD explicit spread_csr_operator(const csr& matrix) : csr(matrix) {}

  index_type bytes_of_copy(const block_share& share) const {
    return entries_of_copy(share, entries_held) * static_cast<index_type>(sizeof(T) + sizeof(std::int32_t));
  }
  /// Call on all threads, with memory of their block for the copy. `anywhere`: an address that the block's share of a
  /// vector could have; places are distances from there, the same for all vectors.
  template <class Team>
  WHILST_HD void copy_rows(const Team& team, std::byte* memory, const void* anywhere) {
    const block_share own = team.share();
    first_row = own.first;
    first_values = reinterpret_cast<T*>(memory);
    first_places = reinterpret_cast<std::int32_t*>(first_values + entries_of_copy(own, held));
    const auto x = team.gathered(static_cast<const T*>(anywhere) - first_row);
    const auto group = Team::divided(this->lanes_a_row);
    for_own_indices(team, group.size(), this->n, [&](index_type i) {
      const auto e = csr::fetch(i, group);
      const index_type at = position(i, group);
      for (int j = 0; j < held; ++j) {
        first_values[at + j * side_by_side] = e.value[j];
        first_places[at + j * side_by_side] = e.column[j] < 0 ? nowhere : x.place_of(e.column[j]);
      }
      const Offset begin = this->row_offsets[i], length = this->row_offsets[i + 1] - begin;
      for (int pieces = most_pieces + 1; pieces <= held + 1; ++pieces)
        if (length > static_cast<Offset>((pieces - 1) * group.size())) most_pieces = pieces;
    });
  }

  struct first_entries {
    T value[csr::entries::held];
    std::int32_t place[csr::entries::held];
  };
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    if constexpr (requires { team.gathered(first_values); }) {
      const index_type at = position(i, team);
      const T* const value = first_values + at;
      const std::int32_t* const place = first_places + at;
      first_entries e;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) {
        e.value[j] = j < most_pieces ? value[j * side_by_side] : T(0);
        e.place[j] = j < most_pieces ? place[j * side_by_side] : nowhere;
      }
      return e;
    } else {
      return csr::fetch(i, team);
    }
  }
  /// x: what the team gathers; two vectors are none.
  template <class X, class Team>
  WHILST_HD T row(const first_entries& e, index_type i, const X& x, const Team& team) const {
    T factor[held], sum{};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) factor[j] = x.at_place(e.place[j]);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) sum += e.value[j] * factor[j];
    if (most_pieces > held) add_rest(sum, i, x, team);
    return team.size() == 1 ? sum : team.sum(sum);
  }

 private:
  static constexpr int held = csr::entries::held, side_by_side = 32;
  static constexpr std::int32_t nowhere = -1;

  WHILST_HD index_type entries_of_copy(const block_share& share, int of_each_lane) const {
    const index_type rows = this->n < share.size() ? this->n : share.size();
    return (rows * this->lanes_a_row + side_by_side - 1) / side_by_side * side_by_side * of_each_lane;
  }
  /// Of a lane's first entry in the copy.
  template <class Team>
  WHILST_HD index_type position(index_type i, const Team& team) const {
    const auto all =
        static_cast<unsigned>(i - first_row) * static_cast<unsigned>(team.size()) + static_cast<unsigned>(team.rank());
    return all / side_by_side * (side_by_side * held) + all % side_by_side;
  }
  template <class X, class Team>
  WHILST_HD void add_rest(T& sum, index_type i, const X& x, const Team& team) const {
    typename csr::entries e;
    e.next = this->row_offsets[i] + static_cast<Offset>(held * team.size() + team.rank());
    e.end = this->row_offsets[i + 1];
    while (e.next < e.end) {
      this->load(e, team);
      sum += this->times(e, x);
    }
  }

  index_type first_row = 0;
  T* first_values = nullptr;
  std::int32_t* first_places = nullptr;
  /// Pieces of this thread's longest row, each with an entry for every lane; held + 1 if not all are copied.
  int most_pieces = 0;
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
