#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/classical/strong_dependence.hpp"
#include "solvers/linear/multigrid/strength.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// Of a matrix's entries beside the diagonal: how many rows of the prolongation may take from, those of them that join
/// nothing, and those that classical interpolation has no use for.
template <class C>
struct count_followed {
  strong_graph<C> graph;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD auto operator()(index_type i, const Team& team) const {
    double diagonal = 0;
    graph.A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (j == i) diagonal += static_cast<double>(graph.A.values[e]);
    });
    diagonal = team.sum(diagonal);
    std::int64_t followed = 0, alone = 0, of_no_use = 0;
    graph.A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t) {
      if (!graph.follows(e)) return;
      followed += 1;
      alone += !graph.joins(e);
      of_no_use += opposite(diagonal, static_cast<double>(graph.A.values[e])) == 0;
    });
    return sums<std::int64_t, 3>{{followed, alone, of_no_use}};
  }
};

/// Coefficients are rough where more than a quarter of those entries join nothing: six decades by chance have two
/// fifths of these, half of the cells by chance at 1e6 a third, checkerboards of cubes of 8^3 cells a sixteenth, and a
/// matrix without jumps none. Where it is by chance, aggregates took one and a half to two and a half times the
/// iterations of classical coarsening; but that wants entries of the sign opposite to the diagonal's.
struct tell_roughness {
  std::int32_t* told;
  WHILST_HD void operator()(const sums<std::int64_t, 3>& counts) const {
    *told = counts[1] * 4 > counts[0] && counts[2] * 10 <= counts[0];
  }
};

/// With a larger strength, the strongest of each row alone may be followed, which joins nothing where another is
/// stronger by a hair. The weights of long rows take memory as the squares of their lengths.
inline constexpr double most_strength_for_choice = 0.5;
inline constexpr std::int32_t longest_row_for_choice = 64;

/// Records that the host is told whether coefficients are rough, once entries are marked.
template <class C>
void record_roughness(recorder& run, const strong_graph<C>& graph, std::int32_t* told) {
  const pattern_view& pattern = graph.A.pattern;
  run.step("how rough the coefficients are", pattern.rows, count_followed<C>{graph, pattern.lanes(4)},
           tell_roughness{told});
}

}  // namespace whilst::multigrid
