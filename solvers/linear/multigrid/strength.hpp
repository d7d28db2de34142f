#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// Which entries of a matrix count for aggregation: |a_ij|^2 >= threshold^2 m_i m_j beside the diagonal, where m_i is
/// the largest |a_ij| of row i. Measured by the largest neighbour and not by the diagonal, as in P. Vanek, J. Mandel,
/// M. Brezina, Computing 56 (1996), so that wide stencils have strong entries, too; and by both rows, so that of a
/// symmetric matrix a_ij is strong where a_ji is. A row that is too long has no strong entries, nor has its column.
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
  std::uint8_t* strong;     ///< of each entry
  std::int8_t* has_strong;  ///< of each row
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const double of_row = threshold * threshold * static_cast<double>(largest[i]);
    int count = 0;
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const double a = static_cast<double>(A.values[e]);
      const bool is_strong = j != i && a != 0 && a * a >= of_row * static_cast<double>(largest[j]);
      strong[e] = is_strong;
      count += is_strong;
    });
    count = team.sum(count);
    if (team.rank() == 0) has_strong[i] = count > 0;
  }
};

/// The graph of strong entries.
template <class C>
struct strong_graph {
  matrix_view<C> A;
  const std::uint8_t* strong;

  /// Calls use(j, |a_ij|) for the neighbours of i that the calling thread works on.
  template <class Team, class Use>
  WHILST_HD void each_neighbour(index_type i, const Team& team, const Use& use) const {
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (strong[e]) use(j, fabs(A.values[e]));
    });
  }
};

}  // namespace whilst::multigrid
