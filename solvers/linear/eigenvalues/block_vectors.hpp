#pragma once

#include "solvers/linear/columns/by_column.hpp"

namespace whilst {

/// The blocks of vectors of LOBPCG, in one piece of memory: X, P, their products with A and W twice, since the next
/// ones are made from these; A W once.
template <class T>
struct block_vectors {
  using entries = column_pair<T>;
  static constexpr int blocks = 11;
  entries* memory;
  index_type entries_a_block;

  WHILST_HD entries* x(int side) const { return block(side); }
  WHILST_HD entries* p(int side) const { return block(2 + side); }
  WHILST_HD entries* w(int side) const { return block(4 + side); }
  WHILST_HD entries* Ax(int side) const { return block(6 + side); }
  WHILST_HD entries* Ap(int side) const { return block(8 + side); }
  WHILST_HD entries* Aw() const { return block(10); }
  /// Part 0, 1, 2 of the basis [X W P].
  WHILST_HD entries* of_basis(int part, int side) const { return part == 0 ? x(side) : part == 1 ? w(side) : p(side); }
  WHILST_HD entries* product_of(int part, int side) const { return part == 0 ? Ax(side) : part == 1 ? Aw() : Ap(side); }

 private:
  WHILST_HD entries* block(int k) const { return memory + k * entries_a_block; }
};

/// How the sums of S'S and S'A S are shared out, for S of some hundred thousand rows and some tens of columns. A block
/// takes a piece of the rows; a thread takes two columns by two, and every so many rows of the piece. Neighbouring
/// threads work on the same row, which the multiprocessor's cache then holds.
struct gram_layout {
  static constexpr int threads = 256, sums_a_tile = 8;
  column_layout of;  ///< of a block of vectors
  index_type rows_a_piece, pieces;

  WHILST_HD explicit gram_layout(const column_layout& of) : of(of) {
    constexpr index_type least_rows = 64, most_pieces = 512;
    const index_type even = (of.rows + most_pieces - 1) / most_pieces;
    rows_a_piece = even < least_rows ? least_rows : even;
    pieces = (of.rows + rows_a_piece - 1) / rows_a_piece;
  }
  WHILST_HD int pairs() const { return 3 * static_cast<int>(of.pairs); }
  WHILST_HD int columns() const { return 2 * pairs(); }
  WHILST_HD int tiles() const { return pairs() * (pairs() + 1) / 2; }
  WHILST_HD index_type numbers_of_sums() const { return index_type{tiles()} * sums_a_tile * pieces; }

  /// Two columns by two, on or above the diagonal.
  struct tile {
    int row, column;
    WHILST_HD tile(int k, int pairs) : row(0) {
      while (k >= pairs - row) {
        k -= pairs - row;
        row += 1;
      }
      column = row + k;
    }
  };
};

/// The sums of products over each piece.
template <class T>
struct gram_of_pieces {
  static constexpr bool whole_block = true;
  gram_layout layout;
  block_vectors<T> vectors;
  const int* side;
  double* partial;

  WHILST_HD static int threads_wanted() { return gram_layout::threads; }
  static index_type fast_memory_bytes() {
    return index_type{gram_layout::threads} * gram_layout::sums_a_tile * index_type{sizeof(double)};
  }
  index_type bytes(index_type) const {
    return 6 * layout.of.entries() * static_cast<index_type>(sizeof(column_pair<T>)) +
           layout.numbers_of_sums() * static_cast<index_type>(sizeof(double));
  }

  template <class Team>
  WHILST_HD void operator()(index_type piece, const Team& team) const {
    constexpr int count = gram_layout::sums_a_tile;
    const int tiles = layout.tiles(), size = static_cast<int>(team.size()), rank = static_cast<int>(team.rank());
    const int at_once = size < tiles ? size : tiles, groups = size / at_once, group = rank / at_once;
    const index_type pairs = layout.of.pairs, begin = piece * layout.rows_a_piece;
    const index_type end = layout.of.rows - begin < layout.rows_a_piece ? layout.of.rows : begin + layout.rows_a_piece;
    for (int first = 0; first < tiles; first += at_once) {
      const int mine = first + rank % at_once;
      double sum[count] = {};
      if (group < groups && mine < tiles) {
        const gram_layout::tile at(mine, layout.pairs());
        const int width = static_cast<int>(pairs), part = at.column / width;
        const column_pair<T>* const left = vectors.of_basis(at.row / width, *side) + at.row % width;
        const column_pair<T>* const right = vectors.of_basis(part, *side) + at.column % width;
        const column_pair<T>* const image = vectors.product_of(part, *side) + at.column % width;
        for (index_type i = begin + group; i < end; i += groups) {
          const column_pair<T> a = left[i * pairs], b = right[i * pairs], c = image[i * pairs];
          const double a0 = static_cast<double>(a[0]), a1 = static_cast<double>(a[1]);
          const double b0 = static_cast<double>(b[0]), b1 = static_cast<double>(b[1]);
          const double c0 = static_cast<double>(c[0]), c1 = static_cast<double>(c[1]);
          sum[0] += a0 * b0;
          sum[1] += a0 * b1;
          sum[2] += a1 * b0;
          sum[3] += a1 * b1;
          sum[4] += a0 * c0;
          sum[5] += a0 * c1;
          sum[6] += a1 * c0;
          sum[7] += a1 * c1;
        }
      }
      store(sum, mine, piece, at_once, groups, team);
    }
  }

 private:
  /// Adds up over the groups, in their order.
  template <class Team>
  WHILST_HD void store(const double (&sum)[gram_layout::sums_a_tile], int mine, index_type piece, int at_once,
                       int groups, const Team& team) const {
    constexpr int count = gram_layout::sums_a_tile;
    const int size = static_cast<int>(team.size()), rank = static_cast<int>(team.rank());
    auto* const of_threads = static_cast<double*>(team.fast_memory());
    if (size == 1) {
      for (int which = 0; which < count; ++which) partial[(mine * count + which) * layout.pieces + piece] = sum[which];
      return;
    }
    for (int which = 0; which < count; ++which) of_threads[which * size + rank] = sum[which];
    team.sync();
    if (rank < at_once && mine < layout.tiles()) {
      for (int which = 0; which < count; ++which) {
        double total = 0;
        for (int group = 0; group < groups; ++group) total += of_threads[which * size + group * at_once + rank];
        partial[(mine * count + which) * layout.pieces + piece] = total;
      }
    }
    team.sync();
  }
};

/// Adds the pieces up: G = S'S and H = S'A S, both whole. A step over the sums.
struct add_up_gram {
  gram_layout layout;
  const double* partial;
  double *G, *H;

  WHILST_HD static int lanes_wanted() { return 32; }
  index_type bytes(index_type) const { return layout.numbers_of_sums() * static_cast<index_type>(sizeof(double)); }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    double sum = 0;
    for (index_type piece = team.rank(); piece < layout.pieces; piece += team.size())
      sum += partial[k * layout.pieces + piece];
    sum = team.sum(sum);
    constexpr int count = gram_layout::sums_a_tile;
    const gram_layout::tile at(static_cast<int>(k / count), layout.pairs());
    const int which = static_cast<int>(k % count), i = 2 * at.row + which % 4 / 2, j = 2 * at.column + which % 2;
    if (team.rank() != 0 || i > j) return;
    double* const target = which < 4 ? G : H;
    const int q = layout.columns();
    target[i * q + j] = target[j * q + i] = sum;
  }
};

}  // namespace whilst
