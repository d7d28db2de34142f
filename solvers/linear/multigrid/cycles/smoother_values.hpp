#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/level_values.hpp"
#include "solvers/linear/multigrid/systems/node_values.hpp"

namespace whilst::multigrid {

/// The values of smoothers other than the default one, see cycle_plan, and what all of them have for rows of zeros.

/// l1-Jacobi: m_i = 1 / sum_j |a_ij|, with the sign of a_ii. No eigenvalue of M A is beyond 1 where A is symmetric: A.
/// H. Baker, R. D. Falgout, T. V. Kolev, U. M. Yang, "Multigrid smoothers for ultraparallel computing", SIAM J. Sci.
/// Comput. 33 (2011), section 5. A row without a diagonal is left as it is, as in smoother_values.
template <class C>
struct l1_values {
  matrix_view<C> A;
  C* M;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    sums<double, 2> of_row{};  // the diagonal, which may be in parts, and sizes
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const double a = static_cast<double>(A.values[e]);
      of_row.value[0] += j == i ? a : 0;
      of_row.value[1] += fabs(a);
    });
    of_row = team.sum(of_row);
    if (team.rank() > 0) return;
    const double m = of_row[0] == 0 ? 0 : 1 / of_row[1];
    M[i] = static_cast<C>(of_row[0] < 0 ? -m : m);
  }
};

/// The same by blocks: M_i = (D_i + L_i)^-1, where the diagonal L_i has the sums of sizes beside the block D_i, with
/// the signs of D_i's diagonal: the "l1 hybrid" smoother of the same paper, for hybrids of nodes.
template <int size>
struct node_l1_values {
  static constexpr int most = block_size<size>::most;
  node_matrix<double> A;
  double* M;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const block_size<size> b{A.down};
    double beside[most] = {};
    A.nodes.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (j == i) return;
      for (int r = 0; r < b; ++r)
        for (int c = 0; c < b; ++c) beside[r] += fabs(A.row(i, e, r)[c]);
    });
    for (int r = 0; r < b; ++r) beside[r] = team.sum(beside[r]);
    double D[most][most];
    invert_diagonal_block<size>(A, i, beside, D);
    if (team.rank() > 0) return;
    for (int r = 0; r < b; ++r)
      for (int c = 0; c < b; ++c) M[(i * b + r) * b + c] = D[r][c];
  }
};

/// M = factor M.
template <class V>
struct scale_smoother {
  double factor;
  V* M;
  WHILST_HD void operator()(index_type k) const { M[k] = static_cast<V>(factor * static_cast<double>(M[k])); }
};

/// M has 1 for an unknown whose row of A is zero, as the inverse of a diagonal has: else it would be singular. By
/// unknowns; only where M has 0 is the row looked at. V: the numbers of A and M.
template <class V>
struct unit_for_zero_rows {
  node_matrix<V> A;
  V* M;

  WHILST_HD void operator()(index_type k) const {
    const int b = A.down;
    const index_type i = k / b;
    const int r = static_cast<int>(k % b);
    V& own = M[k * b + r];
    if (own != 0) return;
    for (std::int32_t e = A.nodes.offsets[i]; e < A.nodes.offsets[i + 1]; ++e)
      for (int c = 0; c < b; ++c)
        if (A.row(i, e, r)[c] != 0) return;
    own = 1;
  }
};

/// A level's matrix in the numbers of the cycle.
template <class C>
struct round_values {
  const double* values;
  C* rounded;
  WHILST_HD void operator()(index_type e) const { rounded[e] = static_cast<C>(values[e]); }
};

}  // namespace whilst::multigrid
