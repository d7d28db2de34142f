#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
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
/// For sweeps that others follow.
struct put_nothing {
  template <class C>
  WHILST_HD void operator()(index_type, C) const {}
};

}  // namespace whilst::multigrid
