#pragma once

#include <type_traits>
#include <utility>

#include "solvers/linear/columns/column_pair.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// How several columns lie in memory, row by row, and how their rows are shared out: a block takes a piece of the rows,
/// and a thread of it every so many rows of one pair of columns. Neighbouring threads have neighbouring pairs, so that
/// a row of a vector is read in one go, and its row of the matrix once for all. An odd last column has a neighbour of
/// zeros.
struct column_layout {
  index_type rows;
  int columns;
  index_type pairs, rows_a_piece, pieces;

  WHILST_HD column_layout(index_type rows, index_type columns)
      : rows(rows), columns(static_cast<int>(columns)), pairs((columns + 1) / 2) {
    // Enough pieces for each multiprocessor to have several, and few enough for one block to add up.
    constexpr index_type least_rows = 64, most_pieces = 2048;
    const index_type even = (rows + most_pieces - 1) / most_pieces;
    rows_a_piece = even < least_rows ? least_rows : even;
    pieces = (rows + rows_a_piece - 1) / rows_a_piece;
  }
  /// Of a vector.
  WHILST_HD index_type entries() const { return rows * pairs; }
  WHILST_HD index_type all_columns() const { return 2 * pairs; }
  /// The sum `which` of a column over each piece begins here.
  WHILST_HD index_type sums_of(int which, index_type column) const { return (which * all_columns() + column) * pieces; }
  WHILST_HD index_type numbers_of_sums(int count) const { return count * all_columns() * pieces; }
};

/// The map of a step, by blocks, over rows of columns. Rows has
///
///   read(pair)                what it knows of a pair of columns: a struct whose `runs` is false if there is nothing
///                             to do for either
///   operator()(i, at, known)  the work on row i of this pair, whose entry in vectors is `at`; returns column_sums
///                             or nothing
///   bytes(layout)             what it moves
///
/// The sums of each column over a piece go to `partial`, for by_columns.
template <class Rows>
struct by_pieces {
  static constexpr bool whole_block = true;
  static constexpr int threads = 256;
  column_layout of;
  Rows rows;
  double* partial;  ///< null where there are no sums

  WHILST_HD static int threads_wanted() { return threads; }
  index_type fast_memory_bytes() const { return 2 * threads * index_type{sizeof(double)}; }
  index_type bytes(index_type) const { return rows.bytes(of); }

  template <class Team>
  WHILST_HD void operator()(index_type piece, const Team& team) const {
    const index_type begin = piece * of.rows_a_piece;
    const index_type end = of.rows - begin < of.rows_a_piece ? of.rows : begin + of.rows_a_piece;
    // A block has more threads than there are pairs; on the host one thread takes pair after pair.
    const index_type at_once = team.size() < of.pairs ? team.size() : of.pairs;
    const index_type groups = team.size() / at_once, group = team.rank() / at_once;
    for (index_type first = 0; first < of.pairs; first += at_once) {
      const index_type pair = first + team.rank() % at_once;
      const auto known = rows.read(pair);
      const index_type stop = known.runs && group < groups ? end : begin;
      using result = decltype(rows(begin, begin, known));
      if constexpr (std::is_void_v<result>) {
        for (index_type i = begin + group; i < stop; i += groups) rows(i, i * of.pairs + pair, known);
      } else {
        result total{};
        for (index_type i = begin + group; i < stop; i += groups) total += rows(i, i * of.pairs + pair, known);
        add_up(total, piece, pair, at_once, groups, team);
      }
    }
  }

 private:
  /// Over the groups, in their order.
  template <int count, class Team>
  WHILST_HD void add_up(const column_sums<count>& total, index_type piece, index_type pair, index_type at_once,
                        index_type groups, const Team& team) const {
    if (team.size() == 1) {
      for (int which = 0; which < count; ++which)
        for (int j = 0; j < 2; ++j) partial[of.sums_of(which, 2 * pair + j) + piece] = total.value[which][j];
      return;
    }
    auto* const of_threads = static_cast<double*>(team.fast_memory());
    const index_type size = team.size(), rank = team.rank();
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int which = 0; which < count; ++which) {
      of_threads[rank] = total.value[which][0];
      of_threads[size + rank] = total.value[which][1];
      team.sync();
      // A thread adds up a column.
      for (index_type column = rank; column < 2 * at_once; column += size) {
        const double* const of_column = of_threads + column % 2 * size + column / 2;
        double sum = 0;
        for (index_type group = 0; group < groups; ++group) sum += of_column[group * at_once];
        partial[of.sums_of(which, column) + piece] = sum;
      }
      team.sync();
    }
  }
};

/// The map of a step, by blocks, over columns: adds up `count` sums of a column over its pieces, and has Judge work
/// with the totals on one thread. Judge has
///
///   is_asked(column)         whether there is anything to do; its answer changes in no other column's verdict
///   operator()(column, sums) returns whether the column goes on, or nothing
///
/// The map returns the number of columns that go on, if Judge says that.
template <int count, class Judge>
struct by_columns {
  static constexpr bool whole_block = true;
  column_layout of;
  const double* partial;
  Judge judge;
  static constexpr bool decides =
      !std::is_void_v<decltype(std::declval<const Judge&>()(index_type{}, std::declval<const sums<double, count>&>()))>;

  WHILST_HD static int threads_wanted() { return 256; }
  index_type bytes(index_type) const { return of.numbers_of_sums(count) * static_cast<index_type>(sizeof(double)); }

  template <class Team>
  WHILST_HD auto operator()(index_type column, const Team& team) const {
    [[maybe_unused]] sums<double, 1> going_on{};
    if (judge.is_asked(column)) {
      sums<double, count> total{};
      for (index_type piece = team.rank(); piece < of.pieces; piece += team.size())
        for (int which = 0; which < count; ++which) total.value[which] += partial[of.sums_of(which, column) + piece];
      total = team.sum(total);  // all threads have asked before the first one judges
      if (team.rank() == 0) {
        if constexpr (decides) {
          going_on.value[0] = judge(column, total) ? 1 : 0;
        } else {
          judge(column, total);
        }
      }
    }
    if constexpr (decides) return going_on;
  }
};

/// The finish of such a step: its loop goes on as long as one column does.
struct while_a_column_goes_on {
  WHILST_HD void operator()(const sums<double, 1>& going_on, loop_state& loop) const {
    if (going_on[0] > 0) {
      loop.check();
      return;
    }
    loop.complete_update();
    loop.stop(reason::completed);
  }
};

/// Records such a step.
template <int count, class Run, class Judge, class... Finish>
WHILST_HD void judge_columns(Run& run, const char* name, const column_layout& of, const double* partial,
                             const Judge& judge, const Finish&... finish) {
  run.team(name, of.all_columns(), by_columns<count, Judge>{of, partial, judge}, finish...);
}
/// Records a step over rows of columns.
template <class Run, class Rows>
WHILST_HD void visit_rows(Run& run, const char* name, const column_layout& of, const Rows& rows,
                          double* partial = nullptr) {
  run.team(name, of.pieces, by_pieces<Rows>{of, rows, partial});
}

}  // namespace whilst
