#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/patterns/mapped_columns.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// What an entry of a row adds to the sums of interpolation: nothing, unless its sign is opposite to the diagonal's.
WHILST_HD inline double opposite(double diagonal, double a) {
  return (diagonal > 0 && a < 0) || (diagonal < 0 && a > 0) ? a : 0;
}

/// The diagonal of a matrix whose entries may be in parts.
template <class C>
struct sum_diagonal {
  matrix_view<C> A;
  C* diagonal;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    double sum = 0;
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (j == i) sum += static_cast<double>(A.values[e]);
    });
    sum = team.sum(sum);
    if (team.rank() == 0) diagonal[i] = static_cast<C>(sum);
  }
};

/// On which unknowns one depends strongly: -a_ij >= strength max_k -a_ik, where the diagonal is positive; K. Stueben,
/// "A review of algebraic multigrid", J. Comput. Appl. Math. 128 (2001) 281-309, section 4. Rows that are too long take
/// no part.
template <class C>
struct mark_dependences {
  matrix_view<C> A;
  const C* diagonal;
  double strength;
  std::uint8_t* strong;  ///< of each entry
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const double own = A.pattern.is_too_long(i) ? 0 : sign(static_cast<double>(diagonal[i]));
    const auto size = [&](std::int32_t e) { return -own * static_cast<double>(A.values[e]); };
    double most = 0;
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (j != i && size(e) > most) most = size(e);
    });
    const double limit = -strength * team.least(-most);
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      strong[e] = j != i && size(e) > 0 && size(e) >= limit && !A.pattern.is_too_long(j);
    });
  }

 private:
  WHILST_HD static double sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : 0; }
};

struct strong_entries {
  const std::uint8_t* strong;
  WHILST_HD std::int32_t own(index_type) const { return no_column; }
  WHILST_HD std::int32_t operator()(index_type, std::int32_t e, std::int32_t j) const {
    return strong[e] ? j : no_column;
  }
};
/// An unknown itself, and of a fine one the fine ones around it.
struct itself_and_fine {
  const std::int32_t* coarse;
  const std::int32_t* among;  ///< not negative for the unknowns that count, the others have none; null for all
  WHILST_HD std::int32_t own(index_type i) const { return counts(i) ? static_cast<std::int32_t>(i) : no_column; }
  WHILST_HD std::int32_t operator()(index_type i, std::int32_t, std::int32_t j) const {
    return counts(i) && coarse[i] < 0 && coarse[j] < 0 ? j : no_column;
  }

 private:
  WHILST_HD bool counts(index_type i) const { return !among || among[i] >= 0; }
};
/// The number of a coarse unknown, and of a fine one those of the coarse ones around it. Of a row that is too long
/// there are none, as nothing is interpolated by it.
struct numbers_of_coarse {
  pattern_view A;
  const std::int32_t* coarse;
  WHILST_HD std::int32_t own(index_type i) const { return column(coarse[i]); }
  WHILST_HD std::int32_t operator()(index_type i, std::int32_t, std::int32_t j) const {
    return coarse[i] < 0 && !A.is_too_long(i) ? column(coarse[j]) : no_column;
  }

 private:
  WHILST_HD static std::int32_t column(std::int32_t number) { return number < 0 ? no_column : number; }
};

}  // namespace whilst::multigrid
