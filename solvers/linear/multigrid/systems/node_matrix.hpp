#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "solvers/linear/multigrid/patterns/row_merge.hpp"
#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// Unknowns that a node may have, and vectors of a near-null space: what a thread holds a block of.
inline constexpr int most_unknowns_a_node = 8;

/// A size of blocks that is known when this is compiled, so that a block is held in registers; 0 for one that is not.
template <int fixed>
struct block_size {
  static constexpr int most = fixed ? fixed : most_unknowns_a_node;
  int at_run_time;
  WHILST_HD constexpr operator int() const { return fixed ? fixed : at_run_time; }
};
/// Calls use(integral constants) with the size, where it is one of elasticity's, or 0.
template <class Use>
void with_block_size(int b, const Use& use) {
  switch (b) {
    case 2:
      return use(std::integral_constant<int, 2>());
    case 3:
      return use(std::integral_constant<int, 3>());
    case 6:
      return use(std::integral_constant<int, 6>());
    default:
      return use(std::integral_constant<int, 0>());
  }
}

/// A matrix of systems: of each pair of nodes in a pattern a block, of `down` rows and `across` columns. Values lie as
/// in CSR: the first row of each block of a node's row, then the second ones, and so on. So they are those of a matrix
/// without blocks, too, whose pattern is unfolded(). Borrowed.
template <class C>
struct node_matrix {
  pattern_view nodes;
  C* values = nullptr;
  int down = 1, across = 1;

  index_type nonzeros() const { return nodes.nonzeros * down * across; }
  /// Row r of the block e in the row of node i: `across` values.
  WHILST_HD C* row(index_type i, std::int32_t e, int r) const {
    const index_type begin = nodes.offsets[i], blocks = nodes.offsets[i + 1] - begin;
    return values + (begin * down + r * blocks + e - begin) * across;
  }
  /// Where that block is, or the row's end.
  WHILST_HD std::int32_t find(index_type i, std::int32_t column) const {
    const std::int32_t end = nodes.offsets[i + 1], at = nodes.find(i, column);
    return at < end && nodes.indices[at] == column ? at : end;
  }
};

/// Blocks side by side, [A | B], without their values: rows of a matrix without blocks. B's columns follow A's.
struct unfold_rows {
  pattern_view A, B;  ///< B: without offsets if there is none
  int down, across, across_of_B;
  std::int32_t *offsets, *indices;

  WHILST_HD static int lanes_wanted() { return 16; }
  template <class Team>
  WHILST_HD void operator()(index_type row, const Team& team) const {
    const index_type i = row / down, r = row % down;
    const index_type of_A = (A.offsets[i + 1] - A.offsets[i]) * across,
                     of_B = B.offsets ? (B.offsets[i + 1] - B.offsets[i]) * across_of_B : 0,
                     before_B = B.offsets ? index_type{B.offsets[i]} * across_of_B : 0;
    const index_type begin = (index_type{A.offsets[i]} * across + before_B) * down + r * (of_A + of_B);
    const auto columns_of_A = static_cast<std::int32_t>(A.columns * across);
    put(A, i, across, 0, indices + begin, team);
    if (B.offsets) put(B, i, across_of_B, columns_of_A, indices + begin + of_A, team);
    if (team.rank() > 0) return;
    offsets[row] = static_cast<std::int32_t>(begin);
    if (row + 1 == A.rows * down) offsets[row + 1] = static_cast<std::int32_t>(begin + of_A + of_B);
  }

 private:
  template <class Team>
  WHILST_HD static void put(const pattern_view& of, index_type i, int across, std::int32_t first, std::int32_t* to,
                            const Team& team) {
    of.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      for (int c = 0; c < across; ++c) to[(e - of.offsets[i]) * across + c] = first + j * across + c;
    });
  }
};

/// The nodes that the rows of a node name, in any order there, in order here.
struct columns_of_nodes {
  pattern_view A;  ///< without blocks
  int unknowns_a_node;

  class row {
   public:
    template <class Team>
    WHILST_HD row(const columns_of_nodes& of, index_type i, const Team& team)
        : of_(of),
          begin_(of.A.offsets[i * of.unknowns_a_node] + team.rank()),
          end_(of.A.offsets[(i + 1) * of.unknowns_a_node]),
          step_(team.size()) {}
    WHILST_HD std::int32_t beyond(std::int32_t last) const {
      const std::int32_t from = (last + 1) * of_.unknowns_a_node;
      std::int32_t least = no_column;
      for (std::int32_t e = begin_; e < end_; e += step_) {
        const std::int32_t column = of_.A.indices[e];
        least = column >= from && column < least ? column : least;
      }
      return least == no_column ? no_column : least / of_.unknowns_a_node;
    }

   private:
    const columns_of_nodes& of_;
    std::int32_t begin_, end_, step_;
  };
  template <class Team>
  WHILST_HD row begin(index_type i, const Team& team) const {
    return {*this, i, team};
  }
};

/// The values of a matrix without blocks, brought into those of nodes; what a block lacks is 0, duplicates are added.
/// An index: one row.
struct fold_values {
  matrix_view<double> from;
  node_matrix<double> to;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type row, const Team& team) const {
    const index_type i = row / to.down;
    const int r = static_cast<int>(row % to.down);
    const pattern_view& A = from.pattern;
    const std::int32_t begin = A.offsets[row], end = A.offsets[row + 1];
    double* const of_row = to.row(i, to.nodes.offsets[i], r);
    const std::int32_t whole = (to.nodes.offsets[i + 1] - to.nodes.offsets[i]) * to.across;
    int not_in_order = 0;
    A.each_entry(row, team,
                 [&](std::int32_t e, std::int32_t j) { not_in_order += e > begin && A.indices[e - 1] >= j; });
    not_in_order = team.sum(not_in_order);
    if (not_in_order == 0 && end - begin == whole) {  // whole blocks, one after another
      A.each_entry(row, team, [&](std::int32_t e, std::int32_t) { of_row[e - begin] = from.values[e]; });
      return;
    }
    for (std::int32_t k = team.rank(); k < whole; k += team.size()) of_row[k] = 0;
    team.sync();
    const auto add = [&](std::int32_t e, std::int32_t j) {
      const std::int32_t node = j / to.across;
      to.row(i, to.find(i, node), r)[j - node * to.across] += from.values[e];
    };
    if (not_in_order == 0) {
      A.each_entry(row, team, add);
    } else if (team.rank() == 0) {  // several may be one entry: always added in the same order
      for (std::int32_t e = begin; e < end; ++e) add(e, A.indices[e]);
    }
  }
};

/// The size of each block, by Frobenius's norm: for strength and aggregation.
template <class C>
struct sizes_of_blocks {
  node_matrix<double> A;
  C* sizes;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    A.nodes.each_entry(i, team, [&](std::int32_t e, std::int32_t) {
      double sum = 0;
      for (int r = 0; r < A.down; ++r)
        for (int c = 0; c < A.across; ++c) {
          const double a = A.row(i, e, r)[c];
          sum += a * a;
        }
      sizes[e] = static_cast<C>(std::sqrt(sum));
    });
  }
};

/// A factor of products of node matrices: a matrix, or the transpose of one.
struct as_it_is {
  node_matrix<double> A;
  WHILST_HD const pattern_view& nodes() const { return A.nodes; }
  WHILST_HD int down() const { return A.down; }
  WHILST_HD int inner() const { return A.across; }
  WHILST_HD double value(index_type i, std::int32_t e, int r, int t) const { return A.row(i, e, r)[t]; }
};
struct transpose_of {
  node_matrix<double> A;
  pattern_view transposed;
  const std::int32_t* sources;  ///< which block of A each is
  WHILST_HD const pattern_view& nodes() const { return transposed; }
  WHILST_HD int down() const { return A.across; }
  WHILST_HD int inner() const { return A.down; }
  WHILST_HD double value(index_type, std::int32_t e, int r, int t) const {
    return A.row(transposed.indices[e], sources[e], t)[r];
  }
};
/// The values of a product on its pattern, whose blocks have `rows` x `columns` (see block_size). Threads share the
/// blocks of a node.
template <class Left, int rows, int columns>
struct node_product_values {
  Left A;
  node_matrix<double> B, product;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const block_size<rows> down{product.down};
    const block_size<columns> across{product.across};
    const std::int32_t begin = A.nodes().offsets[i], end = A.nodes().offsets[i + 1];
    product.nodes.each_entry(i, team, [&](std::int32_t q, std::int32_t column) {
      double sum[block_size<rows>::most][block_size<columns>::most] = {};
      for (std::int32_t e = begin; e < end; ++e) {
        const std::int32_t j = A.nodes().indices[e], at = B.find(j, column);
        if (at == B.nodes.offsets[j + 1]) continue;
        for (int t = 0; t < A.inner(); ++t) {
          const double* const b = B.row(j, at, t);
          for (int r = 0; r < down; ++r) {
            const double a = A.value(i, e, r, t);
            for (int c = 0; c < across; ++c) sum[r][c] += a * b[c];
          }
        }
      }
      for (int r = 0; r < down; ++r)
        for (int c = 0; c < across; ++c) product.row(i, q, r)[c] = sum[r][c];
    });
  }
};

}  // namespace whilst::multigrid
