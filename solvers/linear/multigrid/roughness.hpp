#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/strength.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// Of a matrix's entries beside the diagonal: how many rows of the prolongation may take from, those of them that join
/// nothing, and those with the diagonal's sign.
template <class C>
struct count_followed {
  strong_graph<C> graph;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD auto operator()(index_type i, const Team& team) const {
    C diagonal = 0;
    graph.A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      if (j == i) diagonal += graph.A.values[e];
    });
    diagonal = team.sum(diagonal);
    std::int64_t followed = 0, alone = 0, of_same_sign = 0;
    graph.A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t) {
      if (!graph.follows(e)) return;
      followed += 1;
      alone += !graph.joins(e);
      of_same_sign += graph.A.values[e] * diagonal > 0;
    });
    return sums<std::int64_t, 3>{{followed, alone, of_same_sign}};
  }
};

/// Coefficients are rough where more than a quarter of those entries join nothing: six decades by chance have two
/// fifths of these, half of the cells by chance at 1e6 a third, checkerboards of cubes a twentieth, and a matrix
/// without jumps none. Aggregates take two to three times the iterations of classical coarsening then; but that wants
/// entries of the other sign than the diagonal's.
struct tell_roughness {
  std::int32_t* told;
  WHILST_HD void operator()(const sums<std::int64_t, 3>& counts) const {
    *told = counts[1] * 4 > counts[0] && counts[2] * 10 <= counts[0];
  }
};

/// Records that the host is told whether coefficients are rough, once entries are marked.
template <class C>
void record_roughness(recorder& run, const strong_graph<C>& graph, std::int32_t* told) {
  const pattern_view& pattern = graph.A.pattern;
  run.step("how rough the coefficients are", pattern.rows, count_followed<C>{graph, pattern.lanes(4)},
           tell_roughness{told});
}

}  // namespace whilst::multigrid
