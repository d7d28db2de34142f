#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "solvers/linear/multigrid/systems/node_matrix.hpp"
#include "solvers/linear/multigrid/systems/node_values.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// One colour of a Gauss-Seidel sweep: x_i = (b_i - sum of a_ij x_j beside the diagonal) / a_ii for the rows of a
/// colour, which do not depend on each other. A row without a diagonal is left as it is, as in smoother_values. Put
/// takes the entries of x, too.
template <class C, class Put>
struct relax_colour {
  matrix_view<C> A;
  const std::int32_t* rows;    ///< the colour's
  const std::int32_t* colour;  ///< of each row, where x is 0 but for earlier colours, and holds anything; else null
  int own;
  const C* b;
  C* x;
  Put put;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    const std::int32_t i = rows[k];
    sums<C, 2> of_row{};  // the diagonal, which may be in parts, and the others' product with x
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const C a = A.values[e];
      if (j == i) {
        of_row.value[0] += a;
      } else if (!colour || colour[j] < own) {
        of_row.value[1] += a * x[j];
      }
    });
    of_row = team.sum(of_row);
    if (team.rank() > 0) return;
    const C d = of_row[0];
    C value = colour ? C(0) : x[i];
    if (d != 0) value = (b[i] - of_row[1]) / d;
    x[i] = value;
    put(i, value);
  }
};

/// D_i^-1 for the diagonal's block of each node: see invert_diagonal_block.
template <class C, int size>
struct invert_diagonal {
  node_matrix<double> A;
  C* inverse;
  WHILST_HD void operator()(index_type i) const {
    const block_size<size> b{A.down};
    double D[block_size<size>::most][block_size<size>::most];
    invert_diagonal_block<size>(A, i, nullptr, D);
    for (int r = 0; r < b; ++r)
      for (int c = 0; c < b; ++c) inverse[(i * b + r) * b + c] = static_cast<C>(D[r][c]);
  }
};
/// As relax_colour by nodes, whose unknowns are solved for together: x_i += D_i^-1 (b_i - sum of A_ij x_j). An unknown
/// that D_i^-1 leaves out stays as it is.
template <class C, int size, class Put>
struct relax_nodes {
  node_matrix<C> A;
  const C* inverse;            ///< of each node its D_i^-1
  const std::int32_t* nodes;   ///< the colour's
  const std::int32_t* colour;  ///< of each node, where x is 0 but for earlier colours, and holds anything; else null
  int own;
  const C* b;
  C* x;
  Put put;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    constexpr int most = block_size<size>::most;
    const block_size<size> block{A.down};
    const index_type i = nodes[k];
    C rest[most] = {};
    A.nodes.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (colour && colour[j] >= own) return;
      for (int r = 0; r < block; ++r)
        for (int c = 0; c < block; ++c) rest[r] -= A.row(i, e, r)[c] * x[index_type{j} * block + c];
    });
    for (int r = 0; r < block; ++r) rest[r] = team.sum(rest[r]);
    if (team.rank() > 0) return;
    for (int r = 0; r < block; ++r) rest[r] += b[i * block + r];
    for (int r = 0; r < block; ++r) {
      const index_type row = i * block + r;
      C value = colour ? C(0) : x[row];
      for (int c = 0; c < block; ++c) value += inverse[row * block + c] * rest[c];
      x[row] = value;
      put(row, value);
    }
  }
};
/// For sweeps that others follow.
struct put_nothing {
  template <class C>
  WHILST_HD void operator()(index_type, C) const {}
};

}  // namespace whilst::multigrid
