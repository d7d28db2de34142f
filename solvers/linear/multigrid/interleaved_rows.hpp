#pragma once

#include <bit>
#include <cstdint>

#include "solvers/linear/multigrid/sparse_pattern.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// A sparse matrix in the order in which a warp reads it. A row has 1 to 32 lanes, as many each, lane k of L the
/// entries k, k + L, ... of the row; the entries of a warp's lanes take turns: the first ones of all lanes lie side by
/// side, then the second ones of those that have two, and so on. So reads are coalesced whatever the rows' lengths,
/// nothing is filled up, and a warp's entries begin where those of its first row do in CSR. Values are of type C, or
/// bfloat16, the upper half of a float.
///
/// For GPUs only: on the host rows are read as they are.
template <class C>
struct interleaved_rows {
  pattern_view pattern;  ///< in CSR
  const C* csr_values = nullptr;
  int lanes = 1;  ///< of a row
  std::int32_t* columns = nullptr;
  C* values = nullptr;  ///< null if they are
  std::uint16_t* upper_halves = nullptr;

  static constexpr int warp = 32, at_once = 4;

  int rows_a_warp() const { return warp / lanes; }
  index_type warps() const { return (pattern.rows + rows_a_warp() - 1) / rows_a_warp(); }
  index_type bytes() const {
    constexpr index_type index = sizeof(std::int32_t), whole = sizeof(C), half = sizeof(std::uint16_t);
    return pattern.nonzeros * (index + (values ? whole : half)) + pattern.rows * index;
  }

  /// What a lane has of the rows of a warp.
  struct share {
    index_type row;        ///< beyond the last one for a lane that has none
    std::int32_t entries;  ///< of the lane
    std::int32_t first;    ///< of the warp's, among all
    std::int32_t own;      ///< the lane's first one, in CSR
  };
  template <class Team>
  WHILST_HD share share_of(index_type w, const Team& team) const {
    const int rows_here = warp / lanes, lane = team.rank() % lanes;
    const index_type first_row = w * rows_here, row = first_row + team.rank() / lanes;
    share found{row, 0, pattern.offsets[first_row], 0};
    if (row >= pattern.rows) return found;
    found.own = pattern.offsets[row] + lane;
    const std::int32_t left = pattern.offsets[row + 1] - found.own;
    found.entries = left > 0 ? (left + lanes - 1) / lanes : 0;
    return found;
  }
  /// Where the lanes' next entries lie; -1 for a lane without one. Moves `next` on.
  template <class Team>
  WHILST_HD static std::int32_t place_of_next(bool has_one, std::int32_t& next, const Team& team) {
    const std::uint32_t with_one = team.ballot(has_one);
    const std::uint32_t before = with_one & ((1u << team.rank()) - 1);
    const std::int32_t at = has_one ? next + ones(before) : -1;
    next += ones(with_one);
    return at;
  }

  /// The product of a lane's share with x; lanes of a row are still to be added up.
  template <class X, class Team>
  WHILST_HD C times(const share& of, const X& x, const Team& team) const {
    return values ? times(values, of, x, team) : times(upper_halves, of, x, team);
  }

  /// Brings the matrix in order: columns once, values whenever they are new.
  struct put_columns {
    interleaved_rows made;
    WHILST_HD static int lanes_wanted() { return warp; }
    template <class Team>
    WHILST_HD void operator()(index_type w, const Team& team) const {
      made.each(w, team, [&](std::int32_t at, std::int32_t e) { made.columns[at] = made.pattern.indices[e]; });
    }
  };
  struct put_values {
    interleaved_rows made;
    WHILST_HD static int lanes_wanted() { return warp; }
    template <class Team>
    WHILST_HD void operator()(index_type w, const Team& team) const {
      made.each(w, team, [&](std::int32_t at, std::int32_t e) {
        if (made.values) {
          made.values[at] = made.csr_values[e];
        } else {
          made.upper_halves[at] = upper_half(static_cast<float>(made.csr_values[e]));
        }
      });
    }
  };
  void record_columns(recorder& run) const { run.step("columns in a warp's order", warps(), put_columns{*this}); }
  void record_values(recorder& run) const { run.step("values in a warp's order", warps(), put_values{*this}); }

 private:
  template <class Team, class Use>
  WHILST_HD void each(index_type w, const Team& team, const Use& use) const {
    const share of = share_of(w, team);
    const std::int32_t most = -team.least(-of.entries);
    std::int32_t next = of.first;
    for (std::int32_t j = 0; j < most; ++j) {
      const std::int32_t at = place_of_next(j < of.entries, next, team);
      if (at >= 0) use(at, of.own + j * lanes);
    }
  }
  template <class Value, class X, class Team>
  WHILST_HD C times(const Value* from, const share& of, const X& x, const Team& team) const {
    const std::int32_t most = -team.least(-of.entries);
    std::int32_t next = of.first;
    C sum = 0;
    for (std::int32_t j = 0; j < most; j += at_once) {
      std::int32_t at[at_once], column[at_once];
      Value value[at_once];
      C factor[at_once];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < at_once; ++k) at[k] = place_of_next(j + k < of.entries, next, team);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < at_once; ++k) {
        column[k] = at[k] >= 0 ? columns[at[k]] : -1;
        value[k] = at[k] >= 0 ? from[at[k]] : Value(0);
      }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < at_once; ++k) factor[k] = column[k] >= 0 ? x[column[k]] : C(0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < at_once; ++k) sum += number(value[k]) * factor[k];
    }
    return sum;
  }
  WHILST_HD static int ones(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
    return __popc(word);
#else
    return std::popcount(word);
#endif
  }
  WHILST_HD static C number(C value) { return value; }
  WHILST_HD static C number(std::uint16_t half) {
    return static_cast<C>(std::bit_cast<float>(static_cast<std::uint32_t>(half) * 0x10000));
  }
  /// The nearest bfloat16, of two the even one.
  WHILST_HD static std::uint16_t upper_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (value != value) return 0x7fc0;
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16) % 2) >> 16);
  }
};

}  // namespace whilst::multigrid
