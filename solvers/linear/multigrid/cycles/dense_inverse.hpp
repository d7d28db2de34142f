#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/basics/host_device.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// The inverse of a small sparse matrix as a dense one, in double: Gauss and Jordan's elimination, 32 unknowns at a
/// time, with pivots from the diagonal. An unknown whose pivot is lost to rounding, as the last one of a singular
/// matrix, is left out: its row and its column become 0. If asked to, a row of zeros has 1 on its diagonal.
///
/// With D for the inverse of the pivots' block, an entry (i, j) of the rest becomes a_ij - sum a_ip D_pq a_qj, the
/// pivots' rows become D a_qj, their columns -a_ip D and their own block D. All four are one formula: where i is a
/// pivot, its row a_ip counts as that of -I, where j is one, its column a_qj as that of I, and in both cases a_ij
/// counts as 0.
///
/// Eliminating a block of pivots is one step. Its teams share out the matrix by tiles, from a copy to another one, so
/// that none reads what another writes. Inverting a block is a chain of 32 dependent pivots: meanwhile one team forms
/// and inverts the next block, so that this step already finds the inverse of its own.
class dense_elimination {
 public:
  static constexpr int pivots = 32;     ///< that are eliminated at once
  static constexpr int tile_edge = 64;  ///< rows and columns of a tile
  static constexpr int block_entries = pivots * pivots;

  dense_elimination(index_type n, double* work)
      : n_(static_cast<int>(n)), padded_((n_ + tile_edge - 1) / tile_edge * tile_edge), work_(work) {}
  /// Numbers that it works on: two copies of the matrix, two blocks of pivots, and what is left of a lost pivot.
  static index_type work_size(index_type n) {
    const index_type padded = dense_elimination(n, nullptr).padded_;
    return padded * (2 * padded + 1) + 2 * block_entries;
  }

  int rows() const { return n_; }
  /// With unknowns that have no entries, so that tiles are whole.
  int padded() const { return padded_; }
  double* copy(int number) const { return work_ + number % 2 * padded_ * padded_; }
  double* block(int number) const { return copy(0) + 2 * padded_ * padded_ + number % 2 * block_entries; }
  double* lost() const { return block(0) + 2 * block_entries; }

 private:
  int n_, padded_;
  double* work_;
};

/// A row of the matrix with its zeros, and the size below which its pivot is lost.
template <class C>
struct spread_row {
  matrix_view<C> A;
  int padded;
  double lost_share;  ///< of the diagonal
  double *dense, *lost;
  bool has_units;  ///< in rows of zeros

  WHILST_HD static int lanes_wanted() { return 32; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    double* const row = dense + i * padded;
    for (int j = team.rank(); j < padded; j += team.size()) row[j] = 0;
    if (i >= A.pattern.rows) {
      if (team.rank() == 0) lost[i] = 0;
      return;
    }
    team.sync();
    const std::int32_t begin = A.pattern.offsets[i], end = A.pattern.offsets[i + 1];
    sums<double, 3> of_row{};  // diagonal, entries that are not in order, those that are not 0
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      of_row.value[0] += j == i ? static_cast<double>(A.values[e]) : 0;
      of_row.value[1] += e > begin && A.pattern.indices[e - 1] >= j;
      of_row.value[2] += A.values[e] != 0;
    });
    of_row = team.sum(of_row);
    if (has_units && of_row[2] == 0) {
      if (team.rank() == 0) row[i] = 1;
    } else if (of_row[1] == 0) {
      A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) { row[j] = static_cast<double>(A.values[e]); });
    } else if (team.rank() == 0) {  // several may be one entry: always added in the same order
      for (std::int32_t e = begin; e < end; ++e) row[A.pattern.indices[e]] += static_cast<double>(A.values[e]);
    }
    if (team.rank() == 0) lost[i] = lost_share * fabs(of_row[0]);
  }
};

/// Eliminates pivots from `first` on. Index 0: forms and inverts the next block of pivots. Others: a tile each.
template <class C>
struct eliminate_pivots {
  static constexpr bool whole_block = true;
  static constexpr int pivots = dense_elimination::pivots, tile_edge = dense_elimination::tile_edge;
  int n, padded, first;          ///< first < 0: the next block is the first one, nothing is eliminated
  const double *before, *block;  ///< the matrix, the inverse of the pivots' block
  double *after, *next_block;
  const double* lost;
  C* inverse;  ///< takes the result instead of `after`; null in all steps but the last
  bool symmetric;

  WHILST_HD int tiles_across() const { return padded / tile_edge; }
  static constexpr int threads_wanted() { return 128; }
  static constexpr index_type fast_memory_bytes() { return index_type{memory_size} * index_type{sizeof(double)}; }

  template <class Team>
  WHILST_HD void operator()(index_type t, const Team& team) const {
    double on_host[on_device ? 1 : memory_size];
    double* const memory = on_device ? static_cast<double*>(team.fast_memory()) : on_host;
    if (t == 0) {
      const int next = first + pivots;
      if (next >= n) return;
      tile<pivots, pivots> entries;
      eliminate(next, next, entries, memory, team);
      team.sync();
      invert(lost + next, entries, memory, team);
      each_of(entries, team, [&](int i, int j, double& x) { next_block[i * pivots + j] = x; });
      return;
    }
    const int number = static_cast<int>(t) - 1, top = number / tiles_across() * tile_edge,
              left = number % tiles_across() * tile_edge;
    if (inverse && symmetric && top > left) return;  // written with its mirror image
    tile<tile_edge, tile_edge> entries;
    eliminate(top, left, entries, memory, team);
    if (!inverse) {
      double* const of_tile = after + top * padded + left;
      each_of(entries, team, [&](int i, int j, double& x) { of_tile[i * padded + j] = x; });
      return;
    }
    each_of(entries, team, [&](int row, int column, double& x) {
      const int i = top + row, j = left + column;
      if (i >= n || j >= n || (symmetric && i > j)) return;
      inverse[i * n + j] = static_cast<C>(x);
      if (symmetric) inverse[j * n + i] = static_cast<C>(x);
    });
  }

 private:
  /// How a team's threads lie on a tile. No kernel needs so many registers that a block would have fewer of them.
  static constexpr int down = on_device ? 8 : 1, across = on_device ? 16 : 1;
  /// What a thread has of a tile.
  template <int rows, int columns>
  using tile = double[rows / down][columns / across];
  /// Rows of pivots' columns are one number longer, so that threads that read below one another use other banks.
  static constexpr int left_stride = pivots + 1;
  static constexpr int memory_size = tile_edge * left_stride + pivots * tile_edge + pivots * pivots;

  /// Calls use(row, column, entry) for the thread's entries of a tile.
  template <int rows, int columns, class Team, class Use>
  WHILST_HD static void each_of(double (&entries)[rows][columns], const Team& team, const Use& use) {
    const int i = team.rank() / across, j = team.rank() % across;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int a = 0; a < rows; ++a)
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int b = 0; b < columns; ++b) use(i + down * a, j + across * b, entries[a][b]);
  }

  WHILST_HD bool is_pivot(int i) const { return i >= first && i < first + pivots; }

  /// The tile's entries after the elimination.
  template <int rows, int columns, class Team>
  WHILST_HD void eliminate(int top, int left, double (&entries)[rows][columns], double* memory,
                           const Team& team) const {
    const auto read = [&](int i0, int j0, auto& into) {
      const double* const from = before + i0 * padded + j0;
      each_of(into, team, [&](int i, int j, double& x) { x = from[i * padded + j]; });
    };
    read(top, left, entries);
    if (first < 0) return;
    // All reads come before the first use. No branch around one of them: the next would wait for it.
    double columns_here[rows][pivots / across], rows_here[pivots / down][columns],
        block_here[pivots / down][pivots / across];
    read(top, first, columns_here);
    read(first, left, rows_here);
    each_of(block_here, team, [&](int p, int q, double& x) { x = block[p * pivots + q]; });
    if (top <= first && first < top + rows * down) {
      each_of(columns_here, team, [&](int i, int p, double& x) {
        if (is_pivot(top + i)) x = top + i == first + p ? -1 : 0;
      });
      each_of(entries, team, [&](int i, int, double& x) {
        if (is_pivot(top + i)) x = 0;
      });
    }
    if (left <= first && first < left + columns * across) {
      each_of(rows_here, team, [&](int q, int j, double& x) {
        if (is_pivot(left + j)) x = left + j == first + q ? 1 : 0;
      });
      each_of(entries, team, [&](int, int j, double& x) {
        if (is_pivot(left + j)) x = 0;
      });
    }
    double *const of_rows = memory, *const of_columns = of_rows + tile_edge * left_stride,
                  *const of_block = of_columns + pivots * tile_edge;
    constexpr int width = columns * across;
    each_of(columns_here, team, [&](int i, int p, double& x) {
      of_rows[i * left_stride + p] = -x;  // with a minus, since products are subtracted
      x = 0;
    });
    each_of(block_here, team, [&](int p, int q, double& x) { of_block[p * pivots + q] = x; });
    each_of(rows_here, team, [&](int q, int j, double& x) { of_columns[q * width + j] = x; });
    team.sync();
    subtract_product(of_rows, of_block, columns_here, team);
    team.sync();
    each_of(columns_here, team, [&](int i, int q, double& x) { of_rows[i * left_stride + q] = x; });
    team.sync();
    subtract_product(of_rows, of_columns, entries, team);
  }

  /// entries -= left right, over the pivots.
  template <int rows, int columns, class Team>
  WHILST_HD static void subtract_product(const double* left, const double* right, double (&entries)[rows][columns],
                                         const Team& team) {
    const int i = team.rank() / across, j = team.rank() % across;
    constexpr int width = columns * across;
    constexpr int at_once = on_device ? rows : 1;  // rows: in registers there, in the cache here
    for (int begin = 0; begin < rows; begin += at_once)
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int p = 0; p < pivots; ++p)
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int a = 0; a < at_once; ++a) {
          const double factor = left[(i + down * (begin + a)) * left_stride + p];
          const double* const of_right = right + p * width + j;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
          for (int b = 0; b < columns; ++b) entries[begin + a][b] -= factor * of_right[across * b];
        }
  }

  /// 0 where the pivot is lost, or no number.
  WHILST_HD static double reciprocal_of_pivot(double pivot, double lost) { return fabs(pivot) > lost ? 1 / pivot : 0; }

  /// Inverts a block of pivots in place. Of each pivot the threads show one another row, column, and the next entry of
  /// the diagonal: so each knows the next pivot, and works out its reciprocal while the block is updated. What was
  /// shown counts as 0 in the update, and the pivot itself as 1 in its row and -1 in its column.
  template <int rows, int columns, class Team>
  WHILST_HD static void invert(const double* lost, double (&entries)[rows][columns], double* memory, const Team& team) {
    static_assert(down <= across && across % down == 0,
                  "of a thread's columns, one has a pivot while `down` of them pass");
    constexpr int shown_size = 2 * pivots + 2;  // two of them, in turns: one barrier a pivot is enough
    double *const lost_here = memory + 2 * shown_size, *const first_pivot = lost_here + pivots;
    for (int k = team.rank(); k < pivots; k += team.size()) lost_here[k] = lost[k];
    if (team.rank() == 0) *first_pivot = entries[0][0];
    team.sync();
    const int own_row = team.rank() / across, own_column = team.rank() % across;
    double reciprocal = reciprocal_of_pivot(*first_pivot, lost_here[0]);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int a = 0; a < rows; ++a) {
      // Numbers of registers are constants: the pivots' row and column among a thread's own, and the next pivot's.
      const int own = a * down / across, next_a = a + 1 < rows ? a + 1 : a, next_own = next_a * down / across;
      WHILST_ROLLED
      for (int in_turn = 0; in_turn < down; ++in_turn) {
        const int k = a * down + in_turn;
        double *const row = memory + k % 2 * shown_size, *const column = row + pivots, *const next = column + pivots;
        const bool has_row = own_row == in_turn, has_column = own_column == k % across;
        if (has_row) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
          for (int b = 0; b < columns; ++b) {
            row[own_column + across * b] = entries[a][b];
            entries[a][b] = 0;
          }
        }
        if (has_column) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
          for (int c = 0; c < rows; ++c) {
            column[own_row + down * c] = entries[c][own];
            entries[c][own] = 0;
          }
        }
        if (has_row && has_column) {
          row[k] = 1;
          column[k] = -1;
        }
        if (own_row == (k + 1) % down && own_column == (k + 1) % across)
          *next = in_turn + 1 < down ? entries[a][own] : entries[next_a][next_own];
        team.sync();
        const double of_this = reciprocal;
        if (k + 1 < pivots)
          reciprocal = reciprocal_of_pivot(*next - column[k + 1] * (row[k + 1] * of_this), lost_here[k + 1]);
        each_of(entries, team, [&](int i, int j, double& x) { x -= column[i] * (row[j] * of_this); });
      }
    }
  }
};

/// Records how the inverse, n x n by rows, follows from A, whose entries are exact to that epsilon. work: of
/// dense_elimination::work_size(n). If `symmetric`, entries (i, j) and (j, i) of the inverse are one number, which is
/// right for a symmetric A alone; without, they may differ by rounding. has_units: for rows of zeros.
template <class V, class C>
void record_dense_inverse(recorder& run, const matrix_view<V>& A, double epsilon, double* work, C* inverse,
                          bool symmetric, bool has_units = false) {
  const dense_elimination at(A.pattern.rows, work);
  const int n = at.rows();
  if (n == 0) return;
  // What rounding leaves of the last pivot of a singular matrix: A's own entries, of n rows, have errors of any sign;
  // the elimination, which is in double, adds more.
  const double lost_share = 4 * (std::sqrt(n) * epsilon + n * std::numeric_limits<double>::epsilon());
  run.step("the matrix with its zeros", at.padded(),
           spread_row<V>{A, at.padded(), lost_share, at.copy(0), at.lost(), has_units});
  eliminate_pivots<C> step{
      n,       at.padded(), -dense_elimination::pivots, at.copy(0), nullptr, nullptr, at.block(0), at.lost(),
      nullptr, symmetric};
  run.team("the first pivots", 1, step);
  const index_type tiles = index_type{step.tiles_across()} * step.tiles_across();
  for (int number = 0; number * dense_elimination::pivots < n; ++number) {
    step.first = number * dense_elimination::pivots;
    step.before = at.copy(number);
    step.after = at.copy(number + 1);
    step.block = at.block(number);
    step.next_block = at.block(number + 1);
    if (step.first + dense_elimination::pivots >= n) step.inverse = inverse;
    run.team("pivots eliminated", 1 + tiles, step);
  }
}

}  // namespace whilst::multigrid
