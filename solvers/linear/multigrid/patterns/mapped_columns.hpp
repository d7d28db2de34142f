#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/patterns/row_merge.hpp"

namespace whilst::multigrid {

/// The set of columns that Map makes of a row of a pattern, as columns_of_product: map.own(i), and map(i, e, j) for its
/// entries e in column j; no_column for none.
template <class Map>
struct mapped_columns {
  pattern_view A;
  Map map;

  template <class Team>
  class row {
   public:
    WHILST_HD row(const mapped_columns& of, index_type i, const Team& team) : of_(of), i_(i), team_(team) {}
    WHILST_HD std::int32_t beyond(std::int32_t last) const {
      std::int32_t least = no_column;
      const auto consider = [&](std::int32_t column) {
        if (column > last && column < least) least = column;
      };
      consider(of_.map.own(i_));
      of_.A.each_entry(i_, team_, [&](std::int32_t e, std::int32_t j) { consider(of_.map(i_, e, j)); });
      return least;
    }

   private:
    const mapped_columns& of_;
    index_type i_;
    const Team& team_;
  };
  template <class Team>
  WHILST_HD row<Team> begin(index_type i, const Team& team) const {
    return {*this, i, team};
  }
};

}  // namespace whilst::multigrid
