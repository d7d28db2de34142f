#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "whilst/basics/views.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

namespace detail {
template <class Csr>
using value_of_csr = std::remove_cvref_t<decltype(*std::declval<const Csr&>().values.get())>;
template <class Csr>
using offset_of_csr = std::remove_cvref_t<decltype(*std::declval<const Csr&>().row_offsets)>;

struct nothing_more {
  WHILST_HD void operator()() const {}
};
}  // namespace detail

/// In how many bytes the values of a matrix are kept: in as few as hold all of them. 2 are the upper half of a float
/// (bfloat16), which has 8 binary digits; 4 are a float; else as many as the number has.
struct choose_value_bytes {
  bool rounds;  ///< to float, values that have no equal one, too
  int most;
  int* chosen;

  /// Of a value: whether it has no equal float, lies beyond float's range of normal numbers, does not fit 2 bytes.
  WHILST_HD static sums<double, 3> judge(double value) {
    const float nearest = static_cast<float>(value);
    const double size = fabs(value);
    const bool is_other = static_cast<double>(nearest) != value;
    const bool is_far = size > 0 && !(size >= 1.2e-38 && size <= 3.4e38);
    const bool is_long = is_other || std::bit_cast<std::uint32_t>(nearest) % 0x10000 != 0;
    return sums{is_other ? 1.0 : 0.0, is_far ? 1.0 : 0.0, is_long ? 1.0 : 0.0};
  }
  WHILST_HD void operator()(const sums<double, 3>& values) const {
    *chosen = values[2] == 0 ? 2 : values[0] == 0 || (rounds && values[1] == 0) ? 4 : most;
  }
};

/// A CSR matrix with a copy of its rows' first entries in the order in which a warp reads them: sliced ELLPACK. The
/// entries of 32 lanes lie side by side, a slice; a row has as many lanes as in csr_operator. Instead of columns the
/// copy has their distances from the row in 16 bits, beyond the least one of the 32 lanes. A slice where that does not
/// fit reads the columns of the CSR matrix; and so is read what is longer than a slice is wide. On the host, where a
/// team is one thread, a row has one lane.
///
/// Steps of the program make the copy from the present values, without looking at the pattern before. Each solve keeps
/// values in as few bytes as hold all of them, which no product can tell; with `rounds`, in float at most.
///
/// For vectors of float: the values are rounded to float, the factor put in before, and rows are summed in double.
///
/// Csr: a csr_operator.
template <class Csr, bool for_float_vectors = false>
struct sliced_operator : Csr {
  using value = detail::value_of_csr<Csr>;
  using offset = detail::offset_of_csr<Csr>;
  using vector_entry = std::conditional_t<for_float_vectors, float, value>;
  using kept = vector_entry;  ///< what the copy has values in
  using sum_of_row = std::conditional_t<for_float_vectors, double, value>;
  static constexpr bool may_be_float = sizeof(kept) > sizeof(float);
  static constexpr bool fetches_constants = false;  // steps make the copy, long before
  static constexpr bool takes_two_vectors = false, takes_spread_vectors = false, runs_in_kernel = false;
  static constexpr int width = entries_held, side_by_side = 32;
  static constexpr std::uint16_t no_entry = 0xffff;

  struct alignas(32) slice {
    std::uint8_t pieces;        ///< entries of its longest lane: usual_pieces to pitch
    bool has_distances;         ///< else the columns of the CSR matrix
    bool is_cut;                ///< some of its rows are longer than a slice is wide
    std::int32_t least[width];  ///< distance of a column from its row, of each piece
  };

  const double* factor = nullptr;  ///< for_float_vectors: what values are multiplied by; null for 1
  bool rounds = false;
  int usual_pieces = 0;  ///< every slice has them, filled up or not, so that no read waits for their number
  int pitch = 0;         ///< pieces that a slice has room for
  slice* slices = nullptr;
  kept* copied = nullptr;  ///< entry j of a slice's lane k at [(slice * pitch + j) * 32 + k], in *value_bytes each
  std::uint16_t* distances = nullptr;  ///< likewise, beyond the slice's least; no_entry at the end of a row
  int* value_bytes = nullptr;

  sliced_operator() = default;
  explicit sliced_operator(const Csr& A, const double* factor = nullptr, bool rounds = false)
      : Csr(A), factor(factor), rounds(rounds) {
    const double lanes = static_cast<double>(A.n) * A.lanes_a_row;
    const double average = lanes > 0 ? static_cast<double>(A.nonzeros) / lanes : 0;
    usual_pieces = average < width ? static_cast<int>(std::ceil(average)) : width;
    constexpr double nearly_all = 0.95;  // rows at a grid's edge are shorter, and none is longer
    pitch = A.lanes_a_row == 1 && usual_pieces * nearly_all <= average ? usual_pieces : usual_pieces + 2;
    if (pitch > width) pitch = width;
  }
  /// Takes the copy's memory, for as long as the program.
  sliced_operator with_memory(workspace& memory) const {
    sliced_operator placed = *this;
    placed.slices = memory.take<slice>(count());
    placed.copied = memory.take<kept>(count() * pitch * side_by_side);
    placed.distances = memory.take<std::uint16_t>(count() * pitch * side_by_side);
    placed.value_bytes = memory.take<int>(1);
    return placed;
  }
  /// What a product reads of the matrix if few rows are cut, and few columns far from the others.
  index_type bytes_read(int of_value) const {
    return this->nonzeros * (of_value + index_type{sizeof(std::uint16_t)}) + count() * index_type{sizeof(slice)};
  }
  index_type bytes() const { return bytes_read(rounds ? sizeof(float) : sizeof(kept)); }

  /// The copy's steps, once in a solve.
  template <class Run>
  void prepare(Run& run) const {
    run.step("slices of rows", count(), lay_out{*this});
    run.step("how many bytes values need", this->nonzeros, look_at_values{*this},
             choose_value_bytes{rounds, sizeof(kept), value_bytes});
    run.step("values of slices", count(), put_values{*this});
    // A product fetches while the step before it still runs. That one must not be the one that makes the copy.
    run.once("the slices are there", detail::nothing_more{});
  }

  struct entries {
    index_type first;  ///< position of the lane's first entry
    slice s;
    std::uint16_t beyond[width];
  };
  template <class Team>
  WHILST_HD entries fetch(index_type i, const Team& team) const {
    const index_type all = i * team.size() + team.rank(), at = all / side_by_side;
    entries e;
    e.first = position(at, 0, static_cast<int>(all % side_by_side));
    for (std::uint16_t& each : e.beyond) each = no_entry;
    load(e.beyond, distances + e.first, 0, usual_pieces);
    e.s = whole(slices + at);
    if (e.s.pieces > usual_pieces) load(e.beyond, distances + e.first, usual_pieces, e.s.pieces);
    return e;
  }
  /// Padding is skipped, not multiplied by zero: x may hold NaN.
  template <class Team>
  WHILST_HD vector_entry row(const entries& e, index_type i, const vector_entry* x, const Team& team) const {
    const int bytes = read_constant(value_bytes);
    sum_of_row sum = bytes == 2                   ? times(e, as<std::uint16_t>() + e.first, i, x, team)
                     : may_be_float && bytes == 4 ? times(e, as<float>() + e.first, i, x, team)
                                                  : times(e, copied + e.first, i, x, team);
    if (e.s.is_cut) add_rest(sum, bytes < static_cast<int>(sizeof(kept)), i, x, team);
    return static_cast<vector_entry>(team.sum(sum));
  }
  template <class Team>
  WHILST_HD vector_entry row(index_type i, const vector_entry* x, const Team& team) const {
    return row(fetch(i, team), i, x, team);
  }
  WHILST_HD vector_entry diagonal(index_type i) const {
    return static_cast<vector_entry>((factor ? *factor : 1.0) * static_cast<double>(Csr::diagonal(i)));
  }

  struct entry_of_lane {
    index_type row;
    offset entry, end;  ///< of the CSR matrix
  };
  /// Entry j of lane k of a slice.
  WHILST_HD entry_of_lane lane(index_type at, int k, index_type j) const {
    const index_type all = at * side_by_side + k, row = all / lanes();
    if (row >= this->n) return {row, 0, 0};
    return {row, this->row_offsets[row] + static_cast<offset>(all % lanes() + j * lanes()), this->row_offsets[row + 1]};
  }
  /// How many slices there are.
  index_type count() const { return (this->n * this->lanes_a_row + side_by_side - 1) / side_by_side; }

  /// Slice number `at`, found by a team of 32 lanes, or by one thread.
  template <class Team>
  WHILST_HD slice find(index_type at, const Team& team) const {
    slice found{0, true, false, {}};
    for (int j = 0; j <= pitch; ++j) {
      std::int32_t least = std::numeric_limits<std::int32_t>::max(), minus_most = least;
      for_own_lanes(at, j, team, [&](int, const entry_of_lane& here) {
        if (here.entry >= here.end) return;
        const std::int32_t far = distance(here);
        least = far < least ? far : least;
        minus_most = -far < minus_most ? -far : minus_most;
      });
      least = team.least(least);
      minus_most = team.least(minus_most);
      const bool is_empty = least > -minus_most;
      if (is_empty && j >= usual_pieces) break;
      if (j == pitch) {
        found.is_cut = true;
        break;
      }
      found.pieces = static_cast<std::uint8_t>(j + 1);
      found.least[j] = least;
      if (!is_empty && std::int64_t{-minus_most} - least >= no_entry) found.has_distances = false;
    }
    return found;
  }
  /// Lays out a slice, but for its values: a warp for each.
  struct lay_out {
    sliced_operator made;

    WHILST_HD static int lanes_wanted() { return side_by_side; }
    template <class Team>
    WHILST_HD void operator()(index_type at, const Team& team) const {
      const slice own = made.find(at, team);
      for (int j = 0; j < own.pieces; ++j)
        made.for_own_lanes(at, j, team, [&](int k, const entry_of_lane& here) {
          made.distances[made.position(at, j, k)] =
              static_cast<std::uint16_t>(here.entry < here.end ? made.distance(here) - own.least[j] : no_entry);
        });
      if (team.rank() == 0) made.slices[at] = own;
    }
    index_type bytes(index_type) const { return made.Csr::bytes() + made.bytes_read(0); }
  };
  /// All values count, also those that are cut off: a row is read in one precision.
  struct look_at_values {
    sliced_operator made;

    WHILST_HD auto operator()(index_type k) const {
      return choose_value_bytes::judge(static_cast<double>(made.kept_value(made.values.get()[k])));
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(value)); }
  };
  /// Puts in the values of a slice.
  struct put_values {
    sliced_operator made;

    WHILST_HD static int lanes_wanted() { return side_by_side; }
    template <class Team>
    WHILST_HD void operator()(index_type at, const Team& team) const {
      const int bytes = *made.value_bytes;
      for (int j = 0; j < made.slices[at].pieces; ++j)
        made.for_own_lanes(at, j, team, [&](int k, const entry_of_lane& here) {
          const kept one = here.entry < here.end ? made.value_of(here) : 0;
          const float narrow = static_cast<float>(one);
          const index_type to = made.position(at, j, k);
          if (bytes == 2) {
            made.template as<std::uint16_t>()[to] =
                static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(narrow) / 0x10000);
          } else if (bytes == 4) {
            made.template as<float>()[to] = narrow;
          } else {
            made.copied[to] = one;
          }
        });
    }
    index_type bytes(index_type) const { return made.nonzeros * static_cast<index_type>(sizeof(value) + sizeof(kept)); }
  };

 private:
  WHILST_HD int lanes() const { return on_device ? this->lanes_a_row : 1; }
  /// Calls f(k, entry j of lane k) for the lanes of a slice that the calling thread works on.
  template <class Team, class Function>
  WHILST_HD void for_own_lanes(index_type at, index_type j, const Team& team, const Function& f) const {
    for (int k = team.rank(); k < side_by_side; k += team.size()) f(k, lane(at, k, j));
  }
  WHILST_HD index_type position(index_type at, int j, int k) const { return (at * pitch + j) * side_by_side + k; }
  WHILST_HD std::int32_t distance(const entry_of_lane& of) const {
    return this->column_indices[of.entry] - static_cast<std::int32_t>(of.row);
  }
  WHILST_HD kept value_of(const entry_of_lane& of) const { return kept_value(this->values.get()[of.entry]); }
  WHILST_HD kept kept_value(value given) const {
    if constexpr (for_float_vectors) {
      return static_cast<float>((factor ? *factor : 1.0) * static_cast<double>(given));
    } else {
      return given;
    }
  }
  /// By two wide reads.
  WHILST_HD static slice whole(const slice* from) {
#if defined(__CUDA_ARCH__)
    struct halves {
      int4 first, second;
    };
    const int4* const half = reinterpret_cast<const int4*>(from);
    return std::bit_cast<slice>(halves{__ldg(half), __ldg(half + 1)});
#else
    return *from;
#endif
  }
  /// Some entries of a lane, all in flight at once.
  template <class Entry>
  WHILST_HD static void load(Entry (&into)[width], const Entry* first, int from, int end) {
#if defined(__CUDA_ARCH__)
    asm("" : "+l"(first));  // the compiler would work out each address anew
#pragma unroll
#endif
    for (int j = 0; j < width; ++j)
      if (j >= from && j < end) into[j] = read_constant(first + j * side_by_side);
  }
  /// A lane's share of a row, but for what is cut off.
  template <class Entry, class Team>
  WHILST_HD sum_of_row times(const entries& e, const Entry* values, index_type i, const vector_entry* x,
                             const Team& team) const {
    Entry own[width] = {};
    load(own, values, 0, usual_pieces);
    if (e.s.pieces > usual_pieces) load(own, values, usual_pieces, e.s.pieces);
    std::int32_t column[width];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j)
      column[j] = e.beyond[j] == no_entry ? -1 : static_cast<std::int32_t>(i) + e.s.least[j] + e.beyond[j];
    if (!e.s.has_distances) find_columns(column, e.s.pieces, i, team);
    vector_entry factor[width];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j) factor[j] = column[j] >= 0 ? x[column[j]] : vector_entry(0);
    sum_of_row sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j) sum += static_cast<sum_of_row>(number(own[j])) * static_cast<sum_of_row>(factor[j]);
    return sum;
  }
  /// Of a slice without distances.
  template <class Team>
  WHILST_HD void find_columns(std::int32_t (&column)[width], int pieces, index_type i, const Team& team) const {
    const offset end = this->row_offsets[i + 1], first = this->row_offsets[i] + static_cast<offset>(team.rank());
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j) {
      const offset entry = first + static_cast<offset>(j * team.size());
      column[j] = j < pieces && entry < end ? read_constant(this->column_indices + entry) : -1;
    }
  }
  /// The values, where they are kept so.
  template <class Entry>
  WHILST_HD Entry* as() const {
    return reinterpret_cast<Entry*>(copied);
  }
  WHILST_HD static float number(std::uint16_t upper_half) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(upper_half) * 0x10000);
  }
  template <class Number>
  WHILST_HD static Number number(Number value) {
    return value;
  }
  /// What is cut off a row, several entries in flight at once.
  template <class Team>
  WHILST_HD void add_rest(sum_of_row& sum, bool is_narrow, index_type i, const vector_entry* x,
                          const Team& team) const {
    typename Csr::entries e;
    e.next = this->row_offsets[i] + static_cast<offset>(pitch * team.size() + team.rank());
    e.end = this->row_offsets[i + 1];
    while (e.next < e.end) {
      Csr::load(e, team);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < Csr::entries::held; ++j) {
        const kept here = kept_value(e.value[j]), read = is_narrow ? static_cast<float>(here) : here;
        if (e.column[j] >= 0) sum += static_cast<sum_of_row>(read) * static_cast<sum_of_row>(x[e.column[j]]);
      }
    }
  }
};

}  // namespace whilst
