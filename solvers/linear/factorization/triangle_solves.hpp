#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst::factorization {

/// A triangle of `factors` in memory of a place.
template <class T>
struct triangle_view {
  int levels = 0, lanes = 1;  ///< lanes: threads for a row, a power of two up to 32
  const std::int32_t *level_offsets = nullptr, *row_offsets = nullptr, *columns = nullptr;
  const T* values = nullptr;
};

/// `factors` in memory of a place.
template <class T>
struct factors_view {
  triangle_view<T> L, U;
  const std::int32_t *source = nullptr, *between = nullptr, *target = nullptr;
  const double *row_scale = nullptr, *inverse_pivot = nullptr, *column_scale = nullptr;
  double operator_factor = 1;  ///< the operator's matrix is this times the one that was factored
};

/// z = C U^-1 L^-1 R r, all levels of both triangles in one step, by one block that meets after each level. A level
/// takes a fraction of the time that a kernel of its own would. On the host one thread goes through the rows in turn.
///
/// What a thread reads of its next row it reads before it meets the others: the way to memory is most of a level's
/// time.
template <class T>
struct solve_triangles {
  static constexpr bool whole_block = true;
  const factors_view<T>* factors;  ///< read when the step runs: factors made anew lie elsewhere
  const T* r;
  T* z;
  double *y, *w;  ///< n entries each

  WHILST_HD static int threads_wanted() { return 1024; }

  /// The right-hand sides of rows, and what becomes of a row's sum.
  struct lower {
    const factors_view<T>& of;
    const T* r;
    double* y;
    WHILST_HD double right_side(std::int32_t k) const { return of.row_scale[k] * static_cast<double>(r[of.source[k]]); }
    WHILST_HD void put(std::int32_t k, double sum) const { y[k] = sum; }
  };
  struct upper {
    const factors_view<T>& of;
    const double* y;
    double* w;
    T* z;
    WHILST_HD double right_side(std::int32_t k) const { return y[of.between[k]]; }
    WHILST_HD void put(std::int32_t k, double sum) const {
      w[k] = sum * of.inverse_pivot[k];
      z[of.target[k]] = static_cast<T>(of.column_scale[k] * w[k] / of.operator_factor);
    }
  };

  /// A row, as far as a lane reads it ahead.
  struct row_ahead {
    std::int32_t first = 0, end = 0, column = 0;
    double value = 0, right_side = 0;
  };

  template <class Side, class Lanes>
  WHILST_HD static row_ahead ahead(const triangle_view<T>& triangle, const Side& side, std::int32_t k,
                                   const Lanes& lanes) {
    row_ahead row{triangle.row_offsets[k] + lanes.rank(), triangle.row_offsets[k + 1]};
    if (row.first < row.end) {
      row.column = triangle.columns[row.first];
      row.value = static_cast<double>(triangle.values[row.first]);
    }
    if (lanes.rank() == 0) row.right_side = side.right_side(k);
    return row;
  }
  template <class Side, class Lanes>
  WHILST_HD static void solve_row(const triangle_view<T>& triangle, const Side& side, const double* solved,
                                  std::int32_t k, const row_ahead& row, const Lanes& lanes) {
    double sum = row.right_side;
    if (row.first < row.end) sum -= row.value * solved[row.column];
    for (std::int32_t e = row.first + lanes.size(); e < row.end; e += lanes.size())
      sum -= static_cast<double>(triangle.values[e]) * solved[triangle.columns[e]];
    sum = lanes.sum(sum);
    if (lanes.rank() == 0) side.put(k, sum);
  }
  template <class Side, class Team>
  WHILST_HD static void solve(const triangle_view<T>& triangle, const Side& side, const double* solved,
                              const Team& team) {
    if (triangle.levels == 0) return;
    const auto lanes = team.divided(triangle.lanes);
    const std::int32_t groups = team.groups(triangle.lanes), group = team.group(triangle.lanes);
    std::int32_t mine = group, end = triangle.level_offsets[1];
    row_ahead row;
    if (mine < end) row = ahead(triangle, side, mine, lanes);
    for (int level = 0; level < triangle.levels; ++level) {
      const bool is_last = level + 1 == triangle.levels;
      const std::int32_t next = end + group, next_end = is_last ? end : triangle.level_offsets[level + 2];
      row_ahead next_row;
      if (next < next_end) next_row = ahead(triangle, side, next, lanes);
      if (mine < end) solve_row(triangle, side, solved, mine, row, lanes);
      for (std::int32_t k = mine + groups; k < end; k += groups)
        solve_row(triangle, side, solved, k, ahead(triangle, side, k, lanes), lanes);
      team.sync();
      mine = next;
      end = next_end;
      row = next_row;
    }
  }
  template <class Team>
  WHILST_HD void operator()(index_type, const Team& team) const {
    const factors_view<T> of = *factors;
    solve(of.L, lower{of, r, y}, y, team);
    solve(of.U, upper{of, y, w, z}, w, team);
  }
};

}  // namespace whilst::factorization
