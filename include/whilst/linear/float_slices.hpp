#pragma once

#include <cstdint>
#include <limits>

#include "whilst/basics/views.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// A copy in float of a scaled CSR matrix, its factor put in, for vectors of float; sums its rows in double. It is laid
/// out in the order in which a warp reads it: the first entries of each lane's row lie side by side for 32 lanes, a
/// slice. Instead of columns it has their distances from the row in 16 bits, beyond the least one of the 32. Where they
/// do not fit, a slice reads the columns of the CSR matrix, and what is longer than a slice is wide is read from there,
/// too. A step of the program makes the copy from the present values, without knowing the pattern before. On the host,
/// where a team is one thread, so is a row's.
///
/// Operator: a scaled_operator of a csr_operator.
template <class Operator>
struct float_slices {
  static constexpr bool fetches_constants = false;  // a step makes the copy, long before
  static constexpr int width = entries_held, side_by_side = 32;
  using offset = std::remove_cvref_t<decltype(*std::declval<Operator>().unscaled.row_offsets)>;
  static constexpr std::uint16_t no_entry = 0xffff;

  struct alignas(32) slice {
    std::uint8_t pieces;        ///< entries of its longest lane, at most `width`
    bool has_distances;         ///< else the columns of the CSR matrix
    bool is_cut;                ///< some of its rows are longer than a slice is wide
    std::int32_t least[width];  ///< distance of a column from its row, of each piece
  };

  Operator A;
  slice* slices;
  float* values;             ///< entry j of a slice's lane k at [(slice * width + j) * 32 + k]
  std::uint16_t* distances;  ///< likewise, beyond the slice's least; no_entry at the end of a row
  int usual_pieces;          ///< every slice has them, filled up or not, so that no read waits for their number

  float_slices(const Operator& A, workspace& memory)
      : A(A),
        slices(memory.take<slice>(count())),
        values(memory.take<float>(count() * width * side_by_side)),
        distances(memory.take<std::uint16_t>(count() * width * side_by_side)) {
    const double lanes = static_cast<double>(A.rows()) * A.lanes_wanted();
    const double average = lanes > 0 ? static_cast<double>(A.unscaled.nonzeros) / lanes : 0;
    usual_pieces = average < width ? static_cast<int>(average + 0.5) : width;
  }

  WHILST_HD index_type rows() const { return A.rows(); }
  WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
  WHILST_HD float diagonal(index_type i) const { return static_cast<float>(A.diagonal(i)); }
  index_type bytes() const {
    return A.unscaled.nonzeros * index_type{sizeof(float) + sizeof(std::uint16_t)} +
           count() * index_type{sizeof(slice)};
  }

  /// The step's map: a warp for each slice.
  struct make {
    float_slices made;

    WHILST_HD static int lanes_wanted() { return side_by_side; }
    template <class Team>
    WHILST_HD void operator()(index_type at, const Team& team) const {
      const auto& csr = made.A.unscaled;
      const auto* const value = csr.values.get();
      const double factor = *made.A.factor;
      slice own{0, true, false, {}};
      for (int j = 0; j <= width; ++j) {
        std::int32_t least = std::numeric_limits<std::int32_t>::max(), below_most = least;
        for (int k = team.rank(); k < side_by_side; k += team.size()) {
          const lane_of_row here = made.lane(at, k, j);
          if (here.entry >= here.end) continue;
          const std::int32_t far = csr.column_indices[here.entry] - static_cast<std::int32_t>(here.row);
          least = far < least ? far : least;
          below_most = -far < below_most ? -far : below_most;
        }
        least = team.least(least);
        below_most = team.least(below_most);
        const bool is_empty = least > -below_most;
        if (is_empty && j >= made.usual_pieces) break;
        if (j == width) {
          own.is_cut = true;
          break;
        }
        own.pieces = static_cast<std::uint8_t>(j + 1);
        own.least[j] = least;
        if (!is_empty && std::int64_t{-below_most} - least >= no_entry) own.has_distances = false;
        for (int k = team.rank(); k < side_by_side; k += team.size()) {
          const lane_of_row here = made.lane(at, k, j);
          const index_type to = made.position(at, j, k);
          const bool is_there = here.entry < here.end;
          made.values[to] = is_there ? made.narrow(factor, value[here.entry]) : 0;
          const auto beyond =
              is_there ? csr.column_indices[here.entry] - static_cast<std::int32_t>(here.row) - least : no_entry;
          made.distances[to] = static_cast<std::uint16_t>(beyond);
        }
      }
      if (team.rank() == 0) made.slices[at] = own;
    }
    index_type bytes(index_type) const { return made.A.bytes() + made.bytes(); }
  };
  /// How many indices the step has.
  index_type count() const { return (A.rows() * A.lanes_wanted() + side_by_side - 1) / side_by_side; }

  struct entries {
    std::int32_t column[width];
    float value[width];
    bool is_cut;
  };
  template <class Team>
  WHILST_HD entries fetch(index_type i, const Team& team) const {
    const auto all = i * team.size() + team.rank();
    const index_type at = all / side_by_side;
    const int k = static_cast<int>(all % side_by_side);
    const float* const value = values + position(at, 0, k);
    const std::uint16_t* const distance = distances + position(at, 0, k);
    entries e;
    std::uint16_t beyond[width];
    const auto load = [&](int from, int end) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < width; ++j)
        if (j >= from && j < end) {
          e.value[j] = read_constant(value + j * side_by_side);
          beyond[j] = read_constant(distance + j * side_by_side);
        }
    };
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j) {
      e.value[j] = 0;
      beyond[j] = no_entry;
    }
    load(0, usual_pieces);
    const slice s = slices[at];
    if (s.pieces > usual_pieces) load(usual_pieces, s.pieces);
    e.is_cut = s.is_cut;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j)
      e.column[j] = beyond[j] == no_entry ? -1 : static_cast<std::int32_t>(i) + s.least[j] + beyond[j];
    if (!s.has_distances) {
      const lane_of_row here = lane(at, k, 0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < width; ++j) {
        const offset entry = here.entry + static_cast<offset>(j * team.size());
        e.column[j] = entry < here.end ? read_constant(A.unscaled.column_indices + entry) : -1;
      }
    }
    return e;
  }
  /// Padding is skipped, not multiplied by zero: x may hold NaN.
  template <class Team>
  WHILST_HD float row(const entries& e, index_type i, const float* x, const Team& team) const {
    float factor[width];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j) factor[j] = e.column[j] >= 0 ? x[e.column[j]] : 0;
    double sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < width; ++j) sum += static_cast<double>(e.value[j]) * static_cast<double>(factor[j]);
    if (e.is_cut) add_rest(sum, i, x, team);
    return static_cast<float>(team.sum(sum));
  }

 private:
  struct lane_of_row {
    index_type row;
    offset entry, end;  ///< of the CSR matrix
  };
  /// Entry j of a lane.
  WHILST_HD lane_of_row lane(index_type at, int k, int j) const {
    const auto& csr = A.unscaled;
    const int lanes = on_device ? csr.lanes_a_row : 1;
    const index_type row = (at * side_by_side + k) / lanes;
    if (row >= csr.n) return {row, 0, 0};
    return {row, csr.row_offsets[row] + static_cast<offset>(k % lanes + j * lanes), csr.row_offsets[row + 1]};
  }
  WHILST_HD static index_type position(index_type at, int j, int k) { return (at * width + j) * side_by_side + k; }
  template <class T>
  WHILST_HD static float narrow(double factor, T value) {
    return static_cast<float>(factor * static_cast<double>(value));
  }
  template <class Team>
  WHILST_HD void add_rest(double& sum, index_type i, const float* x, const Team& team) const {
    const auto& csr = A.unscaled;
    const offset end = csr.row_offsets[i + 1];
    for (offset k = csr.row_offsets[i] + static_cast<offset>(width * team.size() + team.rank()); k < end;
         k += static_cast<offset>(team.size()))
      sum +=
          static_cast<double>(narrow(*A.factor, csr.values.get()[k])) * static_cast<double>(x[csr.column_indices[k]]);
  }
};

}  // namespace whilst
