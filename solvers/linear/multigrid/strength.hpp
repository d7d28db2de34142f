#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// What an entry is strong for, as bits: that rows i and j join one aggregate, and that row i of the prolongation takes
/// from j's.
enum strength : std::uint8_t { not_strong = 0, for_aggregates = 1, for_prolongation = 2 };

/// Which entries of a matrix count for aggregation: |a_ij|^2 >= threshold^2 m_i m_j beside the diagonal, where m_i is
/// the largest |a_ij| of row i. Measured by the largest neighbour and not by the diagonal, as in P. Vanek, J. Mandel,
/// M. Brezina, Computing 56 (1996), so that wide stencils have strong entries, too; and by both rows, so that of a
/// symmetric matrix a_ij is strong where a_ji is. A row that is too long has no strong entries, nor has its column.
///
/// For the prolongation also those with |a_ij| >= threshold m_i: where coefficients jump, an unknown on the low side
/// follows its neighbour on the high side, though that hardly notices it and they join no aggregate. Without these, a
/// checkerboard of cubes with 1 and 1e6 takes more than twice the iterations.
template <class C>
struct largest_beside_diagonal {
  matrix_view<C> A;
  C* largest;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    C most = 0;
    if (A.pattern.is_too_long(i)) {  // nothing is strong beside that
      if (team.rank() == 0) largest[i] = static_cast<C>(HUGE_VAL);
      return;
    }
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const C size = fabs(A.values[e]);
      if (j != i && size > most) most = size;
    });
    most = -team.least(-most);
    if (team.rank() == 0) largest[i] = most;
  }
};

template <class C>
struct mark_strong {
  matrix_view<C> A;
  const C* largest;
  double threshold;
  std::uint8_t* strong;     ///< of each entry: strength
  std::int8_t* has_strong;  ///< of each row
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const double of_row = static_cast<double>(largest[i]);
    int count = 0;
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const double a = static_cast<double>(A.values[e]), of_column = static_cast<double>(largest[j]);
      const bool counts = j != i && a != 0 && of_column < HUGE_VAL;
      const bool joins = counts && a * a >= threshold * threshold * of_row * of_column;
      const bool follows = counts && fabs(a) >= threshold * of_row;
      strong[e] = joins ? for_aggregates | for_prolongation : follows ? for_prolongation : not_strong;
      count += joins;
    });
    count = team.sum(count);
    if (team.rank() == 0) has_strong[i] = count > 0;
  }
};

/// The graph of strong entries.
template <class C>
struct strong_graph {
  matrix_view<C> A;
  const std::uint8_t* strong;  ///< of each entry: strength

  WHILST_HD bool joins(std::int32_t e) const { return strong[e] & for_aggregates; }
  WHILST_HD bool follows(std::int32_t e) const { return strong[e] & for_prolongation; }

  /// Calls use(j, |a_ij|) for those of i's neighbours that count for aggregation and that the calling thread works on.
  template <class Team, class Use>
  WHILST_HD void each_neighbour(index_type i, const Team& team, const Use& use) const {
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (joins(e)) use(j, fabs(A.values[e]));
    });
  }
};

}  // namespace whilst::multigrid
