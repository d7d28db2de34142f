#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"

namespace whilst::approximate_inverse {

/// The graph that patterns follow: from i to j there is an edge where A has an entry a_ij or, if both ways count, a_ji,
/// with a_ij^2 >= drop^2 m_i m_j. m_i is the largest size of a neighbour in row i, as in multigrid's strength. Rows
/// that are too long have no edges, nor have columns, so that one dense row does not join all rows.
struct strong_edges {
  multigrid::matrix_view<double> A;
  multigrid::transposed_pattern transposed;  ///< without offsets if a_ji does not count
  const double* largest;                     ///< m
  double drop;

  /// Calls use(j, weight) for the neighbours of i; of one that is given several times, several times.
  template <class Use>
  WHILST_HD void each(index_type i, const Use& use) const {
    const auto consider = [&](std::int32_t j, double a) {
      const double bound = largest[i] * largest[j];
      if (!(bound < HUGE_VAL)) return;
      if (drop > 0 && !(a * a >= drop * drop * bound)) return;
      const double weight = a * a / bound;
      use(j, weight > 0 ? weight : 0);
    };
    if (!A.pattern.is_too_long(i))
      for (std::int32_t e = A.pattern.offsets[i]; e < A.pattern.offsets[i + 1]; ++e)
        consider(A.pattern.indices[e], A.values[e]);
    const multigrid::pattern_view& AT = transposed.view;
    if (AT.offsets && !AT.is_too_long(i))
      for (std::int32_t e = AT.offsets[i]; e < AT.offsets[i + 1]; ++e)
        consider(AT.indices[e], A.values[transposed.sources[e]]);
  }
};

}  // namespace whilst::approximate_inverse
