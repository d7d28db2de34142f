#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "solvers/linear/multigrid/cycles/column_tile.hpp"
#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// A sparse matrix in the order in which a warp reads it. A row has 1 to 32 lanes, as many each, lane k of L the
/// entries k, k + L, ... of the row; the entries of a warp's lanes take turns: the first ones of all lanes lie side by
/// side, then the second ones of those that have two, and so on. So reads are coalesced whatever the rows' lengths,
/// nothing is filled up, and a warp's entries begin where those of its first row do in CSR. Values are of type C, or
/// bfloat16, the upper half of a float.
///
/// For GPUs, by steps with 32 lanes an index, the number of a warp; on the host rows are read as they are.
template <class C>
struct interleaved_rows {
  static constexpr int warp = 32, at_once = 8, half = at_once / 2;

  pattern_view pattern;           ///< in CSR
  const C* csr_values = nullptr;  ///< likewise
  int log_lanes = 0;              ///< of a row
  std::int32_t* columns = nullptr;
  C* values = nullptr;  ///< null if they are
  std::uint16_t* upper_halves = nullptr;

  index_type warps() const { return (pattern.rows + rows_a_warp() - 1) / rows_a_warp(); }
  index_type bytes() const {
    constexpr index_type index = sizeof(std::int32_t), whole = sizeof(C), half = sizeof(std::uint16_t);
    return pattern.nonzeros * (index + (values ? whole : half)) + pattern.rows * index;
  }

  /// What the calling lane has of the rows of a warp, and its first entries.
  struct entries {
    index_type row;      ///< beyond the last one for a lane that has none
    std::int32_t count;  ///< of the lane's entries
    std::int32_t own;    ///< the first of them, in CSR
    std::int32_t next;   ///< where those of the warp begin that have not been read yet
    std::int32_t column[at_once];
    C value[at_once];
  };
  WHILST_HD entries fetch(index_type w) const {
    entries e = share_of(w);
    load(e, 0);
    return e;
  }
  /// The products of the rows with x, in x's numbers, or tiles of columns; every lane of a row receives its row's. x:
  /// an address, or whatever gives its entries by [].
  template <class X>
  WHILST_HD auto times(entries e, const X& x) const {
    using S = std::remove_cvref_t<decltype(x[0])>;
    S sum = 0;
    for (std::int32_t done = at_once;; done += at_once) {
      S factor[at_once];
      WHILST_UNROLLED
      for (int k = 0; k < at_once; ++k) factor[k] = e.column[k] >= 0 ? x[e.column[k]] : S(0);
      WHILST_UNROLLED
      for (int k = 0; k < at_once; ++k) sum += static_cast<S>(e.value[k]) * factor[k];
      if (ballot(done < e.count) == 0) break;
      load(e, done);
    }
    return sum_of_row(sum);
  }
  WHILST_HD static int rank() {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x % warp);
#else
    return 0;
#endif
  }
  /// Whether the calling lane is its row's first.
  WHILST_HD bool leads() const { return rank() % (1 << log_lanes) == 0; }

  /// Brings the matrix in order: columns once, values whenever they are new.
  struct put_columns {
    interleaved_rows made;
    WHILST_HD static int lanes_wanted() { return warp; }
    template <class Team>
    WHILST_HD void operator()(index_type w, const Team&) const {
      made.each(w, [&](std::int32_t at, std::int32_t e) { made.columns[at] = made.pattern.indices[e]; });
    }
  };
  struct put_values {
    interleaved_rows made;
    WHILST_HD static int lanes_wanted() { return warp; }
    template <class Team>
    WHILST_HD void operator()(index_type w, const Team&) const {
      made.each(w, [&](std::int32_t at, std::int32_t e) {
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
  WHILST_HD int rows_a_warp() const { return warp >> log_lanes; }
  WHILST_HD entries share_of(index_type w) const {
    entries e;
    const index_type first_row = w * rows_a_warp();
    e.row = first_row + (rank() >> log_lanes);
    e.count = e.own = 0;
    e.next = pattern.offsets[first_row];
    if (e.row >= pattern.rows) return e;
    e.own = pattern.offsets[e.row] + rank() % (1 << log_lanes);
    const std::int32_t left = pattern.offsets[e.row + 1] - e.own;
    e.count = left > 0 ? ((left - 1) >> log_lanes) + 1 : 0;
    return e;
  }
  /// Where the calling lane's next entry lies; -1 if it has none. Moves `next` on.
  WHILST_HD static std::int32_t place_of_next(bool has_one, std::int32_t& next) {
    const std::uint32_t with_one = ballot(has_one), before = with_one & ((1u << rank()) - 1);
    const std::int32_t at = has_one ? next + ones(before) : -1;
    next += ones(with_one);
    return at;
  }
  template <class Use>
  WHILST_HD void each(index_type w, const Use& use) const {
    entries e = share_of(w);
    for (std::int32_t j = 0; ballot(j < e.count) != 0; ++j) {
      const std::int32_t at = place_of_next(j < e.count, e.next);
      if (at >= 0) use(at, e.own + (j << log_lanes));
    }
  }
  /// The next at_once entries of a lane, from its entry `done` on. By halves, since many a row ends within the first.
  WHILST_HD void load(entries& e, std::int32_t done) const {
    load_half<0>(e, done);
    if (ballot(done + half < e.count) != 0) {
      load_half<half>(e, done + half);
    } else {
      WHILST_UNROLLED
      for (int k = half; k < at_once; ++k) {
        e.column[k] = -1;
        e.value[k] = 0;
      }
    }
  }
  template <int first>
  WHILST_HD void load_half(entries& e, std::int32_t done) const {
    if (ballot(done + half > e.count) == 0) {  // all lanes have them: most often, and a fifth of the instructions
      const std::int32_t from = e.next + rank();
      load_whole<first>(e.column, columns + from);
      if (values) {
        load_whole<first>(e.value, values + from);
      } else {
        load_whole<first>(e.value, upper_halves + from);
      }
      e.next += half * warp;
      return;
    }
    std::int32_t at[half];
    WHILST_UNROLLED
    for (int k = 0; k < half; ++k) at[k] = place_of_next(done + k < e.count, e.next);
    load_places<first>(e.column, columns, at, std::int32_t(-1));
    if (values) {
      load_places<first>(e.value, values, at, C(0));
    } else {
      load_places<first>(e.value, upper_halves, at, C(0));
    }
  }
  template <int first, class Into, class From>
  WHILST_HD static void load_whole(Into (&into)[at_once], const From* from) {
#if defined(__CUDA_ARCH__)
    asm("" : "+l"(from));  // one address and short distances; the compiler would work out each anew
#endif
    WHILST_UNROLLED
    for (int k = 0; k < half; ++k) into[first + k] = number(read_constant(from + k * warp));
  }
  template <int first, class Into, class From>
  WHILST_HD static void load_places(Into (&into)[at_once], const From* from, const std::int32_t (&at)[half],
                                    Into if_none) {
    WHILST_UNROLLED
    for (int k = 0; k < half; ++k) into[first + k] = at[k] >= 0 ? number(read_constant(from + at[k])) : if_none;
  }
  /// Bit k is set if the condition holds for lane k. All 32 take part.
  WHILST_HD static std::uint32_t ballot(bool condition) {
#if defined(__CUDA_ARCH__)
    return __ballot_sync(0xffffffffu, condition);
#else
    return condition ? 1 : 0;
#endif
  }
  template <class S>
  WHILST_HD S sum_of_row(S sum) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (int log = 4; log >= 0; --log)
      if (log < log_lanes) sum += of_other_lane(sum, 1 << log);
#endif
    return sum;
  }
  template <class S>
  WHILST_HD static S of_other_lane(S sum, [[maybe_unused]] int distance) {
#if defined(__CUDA_ARCH__)
    if constexpr (is_column_tile<S>) {
      WHILST_UNROLLED
      for (int j = 0; j < S::columns; ++j) sum.value[j] = __shfl_xor_sync(0xffffffffu, sum.value[j], distance);
    } else {
      sum = __shfl_xor_sync(0xffffffffu, sum, distance);
    }
#endif
    return sum;
  }
  WHILST_HD static int ones(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
    return __popc(word);
#else
    return std::popcount(word);
#endif
  }
  WHILST_HD static std::int32_t number(std::int32_t column) { return column; }
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
