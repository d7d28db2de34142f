#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "solvers/linear/block_jacobi/row_blocks.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst::block_jacobi {

/// How the threads of a team share out blocks of up to `most` rows: some threads a block, as a grid over its entries.
/// On the host a team is one thread, with one block.
struct team_of_blocks {
  int most, threads;

  WHILST_HD int threads_a_block() const {
    return most <= 4 ? 4 : most <= 8 ? 16 : most <= 16 ? 32 : most <= 32 ? 64 : most <= 64 ? 128 : threads;
  }
  WHILST_HD int blocks() const { return threads / threads_a_block(); }
  /// Numbers of double that a block takes: its entries, and some of each row.
  WHILST_HD int numbers_a_block() const { return most * (most + 7); }
};

/// The inverses of the diagonal blocks of *factor A, by Gauss and Jordan's elimination in double, each written column
/// by column where Blocks::begin says: row_blocks, or the row_sets of schwarz. For any A, rows are scaled to about 1,
/// and the pivot of a column is the largest entry left in it. For a symmetric A, rows and columns are scaled by about
/// the roots of the diagonal, and pivots are taken from it in order, as is stable for definite blocks. Their signs are
/// those of the block's eigenvalues; M is to be positive definite, so a block of negative pivots becomes its negative
/// inverse. Of the inverse the symmetric part counts.
///
/// A block counts as its diagonal alone, of a symmetric A in absolute values, where a pivot is lost to rounding, where
/// its inverse is too large for C, and where the pivots of a symmetric one have both signs. A zero on that diagonal
/// leaves its row as it is.
template <class T, class C, class Offset, class Blocks = row_blocks>
struct invert_blocks {
  static constexpr bool whole_block = true;

  using block = decltype(Blocks().block(0));

  Blocks blocks;
  bool symmetric;
  double lost;  ///< a pivot up to this, of rows of about 1, is lost
  const Offset* offsets;
  const std::int32_t* columns;
  constant_slot<const T> values;
  const double* factor;
  C* inverses;

  static constexpr int threads_wanted() { return Blocks::threads; }
  index_type fast_memory_bytes() const {
    const team_of_blocks of{blocks.most, Blocks::threads};
    return index_type{of.blocks()} * of.numbers_a_block() * static_cast<index_type>(sizeof(double));
  }
  /// How many indices there are.
  static index_type teams(const Blocks& of, bool on_host) {
    const int each = on_host ? 1 : team_of_blocks{of.most, Blocks::threads}.blocks();
    return (of.count + each - 1) / each;
  }

  template <class Team>
  WHILST_HD void operator()(index_type index, const Team& team) const {
    const team_of_blocks of{blocks.most, Blocks::threads};
    double on_host[on_device ? 1 : Blocks::most_rows * (Blocks::most_rows + 7)];
    const int each = on_device ? of.blocks() : 1, threads = on_device ? of.threads_a_block() : 1;
    const int number = team.rank() / threads;
    double* const memory =
        on_device ? static_cast<double*>(team.fast_memory()) + number * of.numbers_a_block() : on_host;
    const block here = blocks.block(static_cast<std::int32_t>(index) * each + number);
    const entries_of_block at(memory, blocks.most, here.rows, team.rank() % threads, threads);
    read(here, at, team);
    scale(at, team);
    const pivot_signs found = eliminate(at, team);
    write(here, at, found, team);
    team.sync();  // the next index takes the same memory
  }

 private:
  struct pivot_signs {
    bool is_lost, has_negative, has_positive;
  };
  /// A block's matrix in a team's memory, and which of its entries are a thread's own.
  struct entries_of_block {
    double *entries, *row, *column, *exchanged, *left, *right, *diagonal;
    double* source;  ///< which row of the block has come to be row i
    int rows, rank, threads, down, across;

    WHILST_HD entries_of_block(double* memory, int most, int rows, int rank, int threads)
        : entries(memory),
          row(entries + most * most),
          column(row + most),
          exchanged(column + most),
          left(exchanged + most),
          right(left + most),
          diagonal(right + most),
          source(diagonal + most),
          rows(rows),
          rank(rank),
          threads(threads),
          down(1),
          across(1) {
      while (down * across < threads) (across <= down ? across : down) *= 2;
    }
    WHILST_HD double& operator()(int i, int j) const { return entries[i * rows + j]; }
    template <class Use>
    WHILST_HD void each_row(const Use& use) const {
      for (int i = rank; i < rows; i += threads) use(i);
    }
    template <class Use>
    WHILST_HD void each_entry(const Use& use) const {
      for (int i = rank / across; i < rows; i += down)
        for (int j = rank % across; j < rows; j += across) use(i, j);
    }
  };

  /// The block, its zeros too, and its diagonal. One thread reads a row: its entries may be there several times.
  template <class Team>
  WHILST_HD void read(const block& here, const entries_of_block& at, const Team& team) const {
    at.each_entry([&](int i, int j) { at(i, j) = 0; });
    team.sync();
    const T* const from = values.get();
    const double unit = *factor;
    at.each_row([&](int i) {
      const index_type row = blocks.row(here, i), end = offsets[row + 1];
      for (index_type e = offsets[row]; e < end; ++e) {
        const int j = blocks.find(here, columns[e]);
        if (j >= 0) at(i, j) += unit * static_cast<double>(from[e]);
      }
      at.diagonal[i] = at(i, i);
    });
    team.sync();
  }

  WHILST_HD static double about_one(double size) {
    return size > 0 && is_finite(size) ? power_of_two(-binary_exponent(size)) : 1;
  }
  template <class Team>
  WHILST_HD void scale(const entries_of_block& at, const Team& team) const {
    at.each_row([&](int i) {
      if (symmetric) {
        at.left[i] = at.right[i] = about_one(sqrt(fabs(at.diagonal[i])));
      } else {
        double largest = 0;
        for (int j = 0; j < at.rows; ++j) largest = fmax(largest, fabs(at(i, j)));
        at.left[i] = about_one(largest);
        at.right[i] = 1;
      }
    });
    team.sync();
    at.each_entry([&](int i, int j) { at(i, j) *= at.left[i] * at.right[j]; });
    team.sync();
  }

  /// Where the largest entry of column k is, of rows that have had no pivot.
  WHILST_HD static int row_of_pivot(const entries_of_block& at, int k) {
    int found = k;
    for (int i = k + 1; i < at.rows; ++i)
      if (fabs(at(i, k)) > fabs(at(found, k))) found = i;
    return found;
  }
  /// In place: column k becomes what the elimination makes of a unit vector. All blocks of a team take as many turns.
  template <class Team>
  WHILST_HD pivot_signs eliminate(const entries_of_block& at, const Team& team) const {
    pivot_signs found{};
    at.each_row([&](int i) { at.source[i] = i; });
    for (int k = 0; k < blocks.most; ++k) {
      team.sync();
      int p = k;
      double reciprocal = 0;
      if (k < at.rows) {
        if (!symmetric) p = row_of_pivot(at, k);
        const double pivot = at(p, k);
        const bool stays = fabs(pivot) > lost;
        found.is_lost |= !stays;
        (pivot < 0 ? found.has_negative : found.has_positive) = true;
        reciprocal = stays ? 1 / pivot : 0;
        at.each_row([&](int j) {
          at.row[j] = at(p, j) * reciprocal;
          at.exchanged[j] = at(k, j);
          at.column[j] = at(j == p ? k : j, k);
        });
      }
      team.sync();
      if (k >= at.rows) continue;
      at.each_entry([&](int i, int j) {
        double& x = at(i, j);
        if (i == k) {
          x = j == k ? reciprocal : at.row[j];
        } else if (j == k) {
          x = -at.column[i] * reciprocal;
        } else {
          x = (i == p ? at.exchanged[j] : x) - at.column[i] * at.row[j];
        }
      });
      if (at.rank == 0 && p != k) {
        const double of_k = at.source[k];
        at.source[k] = at.source[p];
        at.source[p] = of_k;
      }
    }
    team.sync();
    return found;
  }

  /// Entry (i, source[j]) of the inverse.
  WHILST_HD double of_inverse(const entries_of_block& at, int i, int j) const {
    const double x = symmetric ? 0.5 * (at(i, j) + at(j, i)) : at(i, j);
    return at.right[i] * x * at.left[static_cast<int>(at.source[j])];
  }
  WHILST_HD static bool fits(double x) { return fabs(x) <= static_cast<double>(std::numeric_limits<C>::max()); }
  template <class Team>
  WHILST_HD void write(const block& here, const entries_of_block& at, const pivot_signs& found,
                       const Team& team) const {
    at.each_row([&](int i) {
      bool all = true;
      for (int j = 0; j < at.rows; ++j) all &= fits(of_inverse(at, i, j));
      at.row[i] = all;
    });
    team.sync();
    bool is_whole = !found.is_lost && !(symmetric && found.has_negative && found.has_positive);
    for (int i = 0; i < at.rows; ++i) is_whole &= at.row[i] != 0;
    const double sign = symmetric && found.has_negative ? -1 : 1;
    C* const to = inverses + blocks.begin(here);
    const int kept = blocks.rows_kept(here);
    at.each_entry([&](int i, int j) {
      if (i >= kept) return;
      const int column = is_whole ? static_cast<int>(at.source[j]) : j;
      const double weight = blocks.weight(here, i) * blocks.weight(here, column);
      if (is_whole) {
        to[column * kept + i] = static_cast<C>(weight * (sign * of_inverse(at, i, j)));
      } else {
        const double d = symmetric ? fabs(at.diagonal[i]) : at.diagonal[i];
        to[column * kept + i] = static_cast<C>(i != j ? 0 : weight * (d != 0 && fits(1 / d) ? 1 / d : 1));
      }
    });
  }
};

/// z = M r; of row_sets that add up, what each kept row contributes to it.
template <class T, class C, class Blocks = row_blocks>
struct multiply_by_blocks {
  static constexpr bool fetches_constants = false;
  using block = decltype(Blocks().block(0));

  Blocks blocks;
  const C* inverses;
  const T* r;
  T* z;

  /// Entries at once, so that few waits suffice for a row.
  static constexpr int held = 16;
  struct entries {
    C value[held];
  };
  template <class Team>
  WHILST_HD entries fetch(index_type i, const Team& team) const {
    const block here = blocks.block_with(i);
    const C* const row = row_of_inverse(here, i);
    const int kept = blocks.rows_kept(here);
    return load(0, here.rows, [&](int j) { return team.early(row + j * kept); });
  }
  WHILST_HD void operator()(index_type i, entries e) const {
    const block here = blocks.block_with(i);
    const C* const row = row_of_inverse(here, i);
    const int kept = blocks.rows_kept(here);
    T sum = 0;
    for (int from = 0; from < here.rows; from += held) {
      if (from > 0) e = load(from, here.rows, [&](int j) { return row[j * kept]; });
      T of_r[held];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < held; ++k) of_r[k] = from + k < here.rows ? r[blocks.row(here, from + k)] : T(0);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < held; ++k) sum += static_cast<T>(e.value[k]) * of_r[k];
    }
    z[blocks.target(here, i)] = sum;
  }
  index_type bytes(index_type n) const {
    return blocks.size() * static_cast<index_type>(sizeof(C)) + 2 * n * static_cast<index_type>(sizeof(T));
  }

 private:
  WHILST_HD const C* row_of_inverse(const block& here, index_type i) const {
    return inverses + blocks.begin(here) + blocks.kept_row(here, i);
  }
  template <class Read>
  WHILST_HD static entries load(int from, int rows, const Read& read) {
    entries e;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < held; ++k) e.value[k] = from + k < rows ? read(from + k) : C(0);
    return e;
  }
};

}  // namespace whilst::block_jacobi
