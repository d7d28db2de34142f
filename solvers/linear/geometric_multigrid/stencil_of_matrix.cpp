// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/geometric_multigrid/stencil_of_matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "solvers/host/run_now.hpp"

namespace whilst::geometric_multigrid {
namespace {

/// A matrix on its place; borrowed.
template <class T>
struct rows_of_matrix {
  const void* offsets;
  bool offsets_64;
  const std::int32_t* columns;
  const T* values;

  explicit rows_of_matrix(const solve_request<T>& of)
      : offsets(of.row_offsets), offsets_64(of.offsets_64), columns(of.column_indices), values(of.values) {}
  WHILST_HD index_type begin(index_type i) const {
    return offsets_64 ? static_cast<const std::int64_t*>(offsets)[i] : static_cast<const std::int32_t*>(offsets)[i];
  }
};

struct first_row {
  static constexpr int most = 4;  ///< the diagonal and a neighbour along each axis
  index_type entries;
  std::int32_t column[most];
  double value[most];
};
template <class T>
struct tell_first_row {
  rows_of_matrix<T> A;
  first_row* told;
  WHILST_HD void operator()() const {
    told->entries = A.begin(1) - A.begin(0);
    for (index_type k = 0; k < first_row::most && k < told->entries; ++k) {
      told->column[k] = A.columns[A.begin(0) + k];
      told->value[k] = static_cast<double>(A.values[A.begin(0) + k]);
    }
  }
};

/// Counts rows that are not those of the problem, in any order of their entries.
template <class T>
struct count_other_rows {
  rows_of_matrix<T> A;
  grid_problem expected;
  double diagonal, rounding;

  WHILST_HD auto operator()(index_type i) const {
    const int* const points = expected.points;
    const index_type stride[3] = {1, points[0], index_type{points[0]} * points[1]};
    const index_type at[3] = {i % points[0], i / points[0] % points[1], i / stride[2]};
    unsigned missing = 1;  // neighbours, a bit each
    for (int d = 0; d < 3; ++d) {
      if (at[d] > 0) missing |= 2u << 2 * d;
      if (at[d] < points[d] - 1) missing |= 4u << 2 * d;
    }
    bool differs = false;
    for (index_type e = A.begin(i); e < A.begin(i + 1); ++e) {
      const index_type way = A.columns[e] - i;
      double value = diagonal;
      unsigned which = way == 0;
      for (int d = 0; d < 3; ++d) {
        if (points[d] == 1 || (way != stride[d] && way != -stride[d])) continue;
        which = way < 0 ? 2u << 2 * d : 4u << 2 * d;
        value = -expected.of.axis[d];
      }
      differs |= (missing & which) == 0 || !(fabs(static_cast<double>(A.values[e]) - value) <= rounding);
      missing &= ~which;
    }
    return sums<std::uint64_t, 1>{{differs || missing != 0}};
  }
};
struct note_other_rows {
  std::uint64_t* count;
  WHILST_HD void operator()(const sums<std::uint64_t, 1>& total) const { *count = total[0]; }
};

[[noreturn]] void refuse_matrix(const std::string& why) {
  throw error("making preconditioner multigrid", why,
              "Use preconditioner amg, which takes matrices of any grid or none");
}

/// The extents of the grid, and the links along its axes. Entries may be wrong by `rounding` of the diagonal.
grid_problem problem_of_corner(const first_row& row, index_type rows, double rounding) {
  std::array<std::pair<index_type, double>, first_row::most> entries;
  const auto axes = static_cast<std::size_t>(row.entries) - 1;
  if (row.entries < 1 || row.entries > first_row::most || (axes == 0 && rows > 1))
    refuse_matrix("row 0 of the matrix has " + std::to_string(row.entries) +
                  " entries, and that of a corner of a grid has 2 to 4");
  for (std::size_t k = 0; k <= axes; ++k) entries[k] = {row.column[k], row.value[k]};
  std::sort(entries.begin(), entries.begin() + row.entries);

  grid_problem found;
  bool is_corner = entries[0].first == 0;
  index_type width = 1;  // from a point to its neighbour along the axis
  double sum = 0;
  for (std::size_t d = 0; is_corner && d < axes; ++d) {
    const index_type next = d + 1 < axes ? entries[d + 2].first : rows;
    is_corner = entries[d + 1].first == width && next > width && next % width == 0 && rows % next == 0;
    if (!is_corner) break;
    found.points[d] = static_cast<int>(next / width);
    found.of.axis[d] = -entries[d + 1].second;
    sum += 2 * found.of.axis[d];
    width = next;
  }
  if (!is_corner) refuse_matrix("the columns of row 0 are not those of a corner of a grid");
  const double diagonal = entries[0].second;
  const auto is_link = [](double value) { return value > 0; };
  if (!std::all_of(found.of.axis, found.of.axis + axes, is_link) ||
      !(diagonal > 0 && diagonal >= (1 - rounding) * sum && std::isfinite(diagonal)))
    refuse_matrix(
        "row 0 of the matrix does not have negative entries beside a diagonal that is at least as large as "
        "all neighbours of a point are in sum");
  found.of.shift = std::max(diagonal - sum, 0.0);
  return found;
}

}  // namespace

template <class T>
grid_problem problem_of_matrix(const solve_request<T>& matrix) {
  if (matrix.rows == 0) return {{0, 1, 1}, {}};
  const rows_of_matrix<T> A(matrix);
  const buffer<first_row> first(matrix.where, 1);
  program_recorder looking(matrix.where);
  looking.once("the first row", tell_first_row<T>{A, first.data()});
  run_now(std::move(looking).finish(), matrix.where);
  first_row row;
  first.download(&row);
  // Entries may have been summed up in any order.
  const double rounding = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const grid_problem found = problem_of_corner(row, matrix.rows, rounding);

  const buffer<std::uint64_t> count(matrix.where, 1);
  const double diagonal = found.diagonal();
  program_recorder comparing(matrix.where);
  comparing.step("rows that differ from the first", matrix.rows,
                 count_other_rows<T>{A, found, diagonal, rounding * diagonal}, note_other_rows{count.data()});
  run_now(std::move(comparing).finish(), matrix.where);
  std::uint64_t others = 0;
  count.download(&others);
  if (others > 0)
    refuse_matrix(std::to_string(others) +
                  " rows of the matrix are not those of a stencil as row 0 has it, on a grid of " +
                  std::to_string(found.points[0]) + " x " + std::to_string(found.points[1]) + " x " +
                  std::to_string(found.points[2]));
  return found;
}
template grid_problem problem_of_matrix(const solve_request<WHILST_NUMBER>&);

}  // namespace whilst::geometric_multigrid
