#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "solvers/linear/multigrid/systems/node_matrix.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// How the values of a level of systems are made: what level_values.hpp is for scalar problems.

/// Nodes that are in an aggregate: the pattern of the tentative prolongation T has one block for each.
struct count_aggregates {
  const std::int32_t* aggregate;
  std::int32_t* counts;
  WHILST_HD void operator()(index_type i) const { counts[i] = aggregate[i] >= 0; }
};
struct put_aggregates {
  const std::int32_t *aggregate, *offsets;
  std::int32_t* indices;
  WHILST_HD void operator()(index_type i) const {
    if (aggregate[i] >= 0) indices[offsets[i]] = aggregate[i];
  }
};

/// The tentative prolongation: on each aggregate, the near-null space's vectors become orthonormal, B = T R. T takes
/// the place of B, and R is the near-null space of the aggregate's node. P. Vanek, J. Mandel, M. Brezina, Computing 56
/// (1996), algorithm 4.1, by Gram and Schmidt's process in its modified form. A vector that hardly differs from those
/// before it there, as rotations of a single node, is left out: its columns in T and R are 0.
struct orthonormal_on_aggregates {
  pattern_view nodes_of;  ///< of each aggregate
  int unknowns_a_node, vectors;
  double *B, *R;

  WHILST_HD static int lanes_wanted() { return 32; }
  template <class Team>
  WHILST_HD void operator()(index_type g, const Team& team) const {
    constexpr double lost_share = 1e-9;
    double* const of_R = R + g * vectors * vectors;
    for (int k = 0; k < vectors; ++k) {
      const double before = product(g, k, k, team);
      for (int j = 0; j < k; ++j) {
        const double share = product(g, j, k, team);
        each_entry(g, team, [&](double* b) { b[k] -= share * b[j]; });
        if (team.rank() == 0) of_R[j * vectors + k] = share;
      }
      const double after = product(g, k, k, team);
      const bool stays = after > lost_share * lost_share * before;
      const double norm = stays ? std::sqrt(after) : 0;
      each_entry(g, team, [&](double* b) { b[k] = stays ? b[k] / norm : 0; });
      if (team.rank() > 0) continue;
      of_R[k * vectors + k] = norm;
      for (int j = k + 1; j < vectors; ++j) of_R[j * vectors + k] = 0;
    }
  }

 private:
  /// Calls use(b) for rows b of B; a thread meets the same ones each time.
  template <class Team, class Use>
  WHILST_HD void each_entry(index_type g, const Team& team, const Use& use) const {
    nodes_of.each_entry(g, team, [&](std::int32_t, std::int32_t i) {
      for (int r = 0; r < unknowns_a_node; ++r) use(B + (index_type{i} * unknowns_a_node + r) * vectors);
    });
  }
  template <class Team>
  WHILST_HD double product(index_type g, int j, int k, const Team& team) const {
    double sum = 0;
    each_entry(g, team, [&](const double* b) { sum += b[j] * b[k]; });
    return team.sum(sum);
  }
};
struct tentative_values {
  const double* B;
  node_matrix<double> T;
  WHILST_HD void operator()(index_type i) const {
    for (std::int32_t e = T.nodes.offsets[i]; e < T.nodes.offsets[i + 1]; ++e)
      for (int r = 0; r < T.down; ++r)
        for (int c = 0; c < T.across; ++c) T.row(i, e, r)[c] = B[(i * T.down + r) * T.across + c];
  }
};

/// D = (A_ii + diag(beside))^-1 for the block A_ii; beside, which takes the signs of its diagonal, may be null. Gauss
/// and Jordan's elimination with pivots from the diagonal; how many there are. An unknown whose pivot is lost to
/// rounding, as of a vector that was left out, has a row and a column of zeros.
template <int size>
WHILST_HD int invert_diagonal_block(const node_matrix<double>& A, index_type i, const double* beside,
                                    double (&D)[block_size<size>::most][block_size<size>::most]) {
  constexpr double lost_share = 8 * std::numeric_limits<double>::epsilon();
  const block_size<size> b{A.down};
  const std::int32_t at = A.find(i, static_cast<std::int32_t>(i));
  const bool has_one = at < A.nodes.offsets[i + 1];
  double least[block_size<size>::most];
  for (int r = 0; r < b; ++r) {
    for (int c = 0; c < b; ++c) D[r][c] = has_one ? A.row(i, at, r)[c] : 0;
    if (beside && D[r][r] != 0) D[r][r] += D[r][r] < 0 ? -beside[r] : beside[r];
    least[r] = lost_share * fabs(D[r][r]);
  }
  int kept = 0;
  for (int p = 0; p < b; ++p) {
    const bool stays = fabs(D[p][p]) > least[p];
    const double reciprocal = stays ? 1 / D[p][p] : 0;
    kept += stays;
    for (int r = 0; r < b; ++r) {
      if (r == p) continue;
      const double factor = D[r][p] * reciprocal;
      for (int c = 0; c < b; ++c) D[r][c] = c == p ? -factor : D[r][c] - factor * D[p][c];
    }
    for (int c = 0; c < b; ++c) D[p][c] = c == p ? reciprocal : D[p][c] * reciprocal;
  }
  return kept;
}

/// A smoother M of blocks of nodes, before it is damped: w_i D_i^-1 with the block D_i of the diagonal and w_i = b /
/// ||D_i^-1 A_i||^2, Frobenius's norm of the node's b rows: of all w, the one for which M A is nearest to I there, as
/// in smoother_values. So a node far from dominance is damped by itself.
template <int size>
struct node_smoother_values {
  static constexpr int most = block_size<size>::most;
  using block = double[most][most];
  node_matrix<double> A;
  double* M;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const block_size<size> b{A.down};
    block D;
    const int kept = invert_diagonal_block<size>(A, i, nullptr, D);
    double sum = 0;
    A.nodes.each_entry(i, team, [&](std::int32_t e, std::int32_t) {
      for (int r = 0; r < b; ++r)
        for (int c = 0; c < b; ++c) {
          double da = 0;
          for (int t = 0; t < b; ++t) da += D[r][t] * A.row(i, e, t)[c];
          sum += da * da;
        }
    });
    sum = team.sum(sum);
    const double weight = sum > 0 ? kept / sum : 0;
    if (team.rank() > 0) return;
    for (int r = 0; r < b; ++r)
      for (int c = 0; c < b; ++c) M[(i * b + r) * b + c] = weight * D[r][c];
  }
};

/// The largest eigenvalue of M A by von Mises' iteration, from numbers without regularity: x = M A x / ||x||.
struct begin_iteration {
  double* x;
  WHILST_HD auto operator()(index_type i) const {
    const auto hash = static_cast<std::uint32_t>(i + 1) * 2654435761u;
    x[i] = static_cast<double>(hash ^ hash >> 15) / 4294967296.0 - 0.5;
    return sums{x[i] * x[i]};
  }
};
struct note_norm {
  double* norm;
  WHILST_HD void operator()(const sums<double, 1>& total) const { *norm = std::sqrt(total[0]); }
};
template <int size>
struct iterate {
  node_matrix<double> A;
  const double *M, *x, *norm;
  double* y;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD auto operator()(index_type i, const Team& team) const {
    const block_size<size> b{A.down};
    double Ax[block_size<size>::most] = {};
    A.nodes.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      for (int r = 0; r < b; ++r)
        for (int c = 0; c < b; ++c) Ax[r] += A.row(i, e, r)[c] * x[index_type{j} * b + c];
    });
    for (int r = 0; r < b; ++r) Ax[r] = team.sum(Ax[r]);
    sums<double, 1> square{};
    if (team.rank() > 0) return square;
    for (int r = 0; r < b; ++r) {
      double z = 0;
      for (int t = 0; t < b; ++t) z += M[(i * b + r) * b + t] * Ax[t];
      z = *norm == 0 ? 0 : z / *norm;
      y[i * b + r] = z;
      square.value[0] += z * z;
    }
    return square;
  }
};
/// M is damped so that the eigenvalues of M A are at most that, as far as the iteration tells.
inline constexpr double largest_eigenvalue = 1.5;
struct damp {
  const double* norm;  ///< the iteration's last
  double* M;
  WHILST_HD void operator()(index_type k) const { M[k] = *norm == 0 ? 0 : largest_eigenvalue / *norm * M[k]; }
};

/// P = (I - 4/3 / l M A) T for the largest eigenvalue l of M A, from A T, whose place it takes. All of A counts, so
/// that what A takes to 0 stays in the range of P.
struct node_prolongation_values {
  const double* M;
  node_matrix<double> T, P;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const int b = P.down;
    P.nodes.each_entry(i, team, [&](std::int32_t q, std::int32_t g) {
      const std::int32_t at = T.find(i, g);
      const bool is_own = at < T.nodes.offsets[i + 1];
      for (int c = 0; c < P.across; ++c) {
        double AT[most_unknowns_a_node];
        for (int t = 0; t < b; ++t) AT[t] = P.row(i, q, t)[c];
        for (int r = 0; r < b; ++r) {
          double sum = 0;
          for (int t = 0; t < b; ++t) sum += M[(i * b + r) * b + t] * AT[t];
          const double own = is_own ? T.row(i, at, r)[c] : 0;
          P.row(i, q, r)[c] = own - 4.0 / 3 / largest_eigenvalue * sum;
        }
      }
    });
  }
};

/// Row by row the way up, [S | Q], with S = 2 M - M A M and Q = P - M A P, in the order of unfold_rows.
template <class C, int size>
struct node_way_up_values {
  node_matrix<double> A, P, AP;
  const double* M;
  C* up;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  /// Where row r of node i begins in S, and the same row in Q.
  WHILST_HD C* of_S(index_type i, int r) const {
    const index_type begin = index_type{A.nodes.offsets[i]} * A.across + index_type{AP.nodes.offsets[i]} * AP.across;
    const index_type end =
        index_type{A.nodes.offsets[i + 1]} * A.across + index_type{AP.nodes.offsets[i + 1]} * AP.across;
    return up + begin * A.down + r * (end - begin);
  }
  WHILST_HD C* of_Q(index_type i, int r) const {
    return of_S(i, r) + index_type{A.nodes.offsets[i + 1] - A.nodes.offsets[i]} * A.across;
  }
  template <class Team>
  WHILST_HD void operator()(index_type row, const Team& team) const {
    const block_size<size> b{A.down};
    const int r = static_cast<int>(row % b);
    const index_type i = row / b;
    double m[block_size<size>::most];
    for (int t = 0; t < b; ++t) m[t] = M[row * b + t];
    C *const S = of_S(i, r), *const Q = of_Q(i, r);
    A.nodes.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      double mam[block_size<size>::most] = {};
      for (int c = 0; c < b; ++c) {
        double ma = 0;
        for (int t = 0; t < b; ++t) ma += m[t] * A.row(i, e, t)[c];
        for (int s = 0; s < b; ++s) mam[s] += ma * M[(index_type{j} * b + c) * b + s];
      }
      C* const to = S + (e - A.nodes.offsets[i]) * b;
      for (int s = 0; s < b; ++s) to[s] = static_cast<C>((j == i ? 2 * m[s] : 0) - mam[s]);
    });
    AP.nodes.each_entry(i, team, [&](std::int32_t q, std::int32_t g) {
      const std::int32_t at = P.find(i, g);
      const bool is_in_P = at < P.nodes.offsets[i + 1];
      C* const to = Q + (q - AP.nodes.offsets[i]) * AP.across;
      for (int c = 0; c < AP.across; ++c) {
        double value = is_in_P ? P.row(i, at, r)[c] : 0;
        for (int t = 0; t < b; ++t) value -= m[t] * AP.row(i, q, t)[c];
        to[c] = static_cast<C>(value);
      }
    });
  }
};
/// Q', from the way up. An index: one row of a node of the coarse level.
template <class C, int size>
struct node_way_down_values {
  node_way_up_values<C, size> from;
  node_matrix<C> QT;
  const std::int32_t* sources;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type row, const Team& team) const {
    const index_type g = row / QT.down;
    const int r = static_cast<int>(row % QT.down);
    QT.nodes.each_entry(g, team, [&](std::int32_t e, std::int32_t i) {
      const index_type place = sources[e] - from.AP.nodes.offsets[i];
      for (int t = 0; t < QT.across; ++t) QT.row(g, e, r)[t] = from.of_Q(i, t)[place * QT.down + r];
    });
  }
};

}  // namespace whilst::multigrid
