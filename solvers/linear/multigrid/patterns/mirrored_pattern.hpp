#pragma once

#include <cmath>

#include "solvers/linear/multigrid/patterns/row_merge.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// A matrix on a pattern that equals its own transpose: so A' has the same pattern, and only its values lie elsewhere.
/// Products of such matrices, and their aggregates, have that property again; so the finest level alone needs these.

/// Columns of A or of A', for the rows of a pattern with both; A' is in order. An unknown whose row in A or A' is too
/// long keeps its diagonal alone: no aggregate would take it, and with the rest, of a cycle that need not be symmetric,
/// goes the time that it takes.
struct columns_of_either {
  pattern_view A, transposed;

  WHILST_HD bool is_apart(index_type i) const { return A.is_too_long(i) || transposed.is_too_long(i); }

  class row {
   public:
    template <class Team>
    WHILST_HD row(const columns_of_either& of, index_type i, const Team& team)
        : of_(of), i_(static_cast<std::int32_t>(i)), rank_(team.rank()), step_(team.size()), apart_(of.is_apart(i)) {}
    WHILST_HD std::int32_t beyond(std::int32_t last) const {
      if (apart_) return last < i_ ? i_ : no_column;
      std::int32_t least = no_column;
      const auto consider = [&](std::int32_t j) {
        if (j > last && j < least && !of_.is_apart(j)) least = j;
      };
      const std::int32_t end = of_.A.offsets[i_ + 1], end_of_AT = of_.transposed.offsets[i_ + 1];
      for (std::int32_t e = of_.A.offsets[i_] + rank_; e < end; e += step_) consider(of_.A.indices[e]);
      for (std::int32_t e = of_.transposed.offsets[i_] + rank_; e < end_of_AT; e += step_)
        consider(of_.transposed.indices[e]);
      return least;
    }

   private:
    const columns_of_either& of_;
    std::int32_t i_, rank_, step_;
    bool apart_;
  };
  template <class Team>
  WHILST_HD row begin(index_type i, const Team& team) const {
    return {*this, i, team};
  }
};
/// The values of A on such a pattern, which is in order: zeros where A has none.
template <class C>
struct spread_values {
  matrix_view<C> A;
  pattern_view onto;
  C* values;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const std::int32_t begin = A.pattern.offsets[i], end = A.pattern.offsets[i + 1];
    onto.each_entry(i, team, [&](std::int32_t e, std::int32_t) { values[e] = 0; });
    const auto put = [&](std::int32_t e, std::int32_t j, bool adds) {
      const std::int32_t at = onto.find(i, j);
      if (at < onto.offsets[i + 1] && onto.indices[at] == j) values[at] = adds ? values[at] + A.values[e] : A.values[e];
    };
    int not_in_order = 0;
    A.pattern.each_entry(
        i, team, [&](std::int32_t e, std::int32_t j) { not_in_order += e > begin && A.pattern.indices[e - 1] >= j; });
    not_in_order = team.sum(not_in_order);
    team.sync();
    if (not_in_order == 0) {
      A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) { put(e, j, false); });
    } else if (team.rank() == 0) {  // several may be one entry: always added in the same order
      for (std::int32_t e = begin; e < end; ++e) put(e, A.pattern.indices[e], true);
    }
  }
};

/// For each entry a_ij the number of a_ji.
struct find_mirrored {
  pattern_view A;
  std::int32_t* mirrored;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    A.each_entry(i, team,
                 [&](std::int32_t e, std::int32_t j) { mirrored[e] = A.find(j, static_cast<std::int32_t>(i)); });
  }
};
/// (|a_ij| + |a_ji|) / 2: how strong an entry is, whichever way it points.
template <class C>
struct mean_sizes {
  const C* values;
  const std::int32_t* mirrored;
  C* sizes;
  WHILST_HD void operator()(index_type e) const { sizes[e] = (fabs(values[e]) + fabs(values[mirrored[e]])) / 2; }
};

}  // namespace whilst::multigrid
