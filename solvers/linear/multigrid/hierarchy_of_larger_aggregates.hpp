#pragma once

#include <utility>

#include "solvers/linear/multigrid/aggregation.hpp"
#include "solvers/linear/multigrid/hierarchy.hpp"
#include "solvers/linear/multigrid/patterns/mapped_columns.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"

/// What a hierarchy by aggregation does besides where it is aggressive. For hierarchy.cpp, which instantiates it.

namespace whilst::multigrid {
namespace {

/// Of an aggregate and the unknowns in or next to it, the aggregates in which these are: its neighbours, and itself.
struct aggregates_of_unknowns {
  const std::int32_t* aggregate;
  WHILST_HD std::int32_t own(index_type) const { return no_column; }
  WHILST_HD std::int32_t operator()(index_type, std::int32_t, std::int32_t i) const {
    return aggregate[i] < 0 ? no_column : aggregate[i];
  }
};
/// All neighbours are equally near. An aggregate without any counts, too: it is its own root.
template <class C>
struct mark_neighbours {
  pattern_view graph;
  C* sizes;
  std::uint8_t* strong;
  std::int8_t* has_strong;
  WHILST_HD void operator()(index_type g) const {
    has_strong[g] = 1;
    for (std::int32_t e = graph.offsets[g]; e < graph.offsets[g + 1]; ++e) {
      sizes[e] = 1;
      strong[e] = graph.indices[e] != g ? for_aggregates : not_strong;
    }
  }
};
struct join_aggregate {
  const std::int32_t* joined;
  std::int32_t* aggregate;
  WHILST_HD void operator()(index_type i) const {
    if (aggregate[i] >= 0) aggregate[i] = joined[aggregate[i]];
  }
};

}  // namespace

template <class C>
const std::int32_t* hierarchy<C>::join_aggregates(recorded_stages& stages, level<C>& fine, const strong_graph<C>& graph,
                                                  const std::int32_t* count, level_memory& scratch) {
  recorder& run = stages.steps();
  const index_type n = fine.A.rows;
  const int lanes = fine.A.lanes(4);
  const columns_of_prolongation<C> of_nearby{graph, fine.aggregate, for_aggregates};
  pattern_view nearby = record_offsets_of(run, n, lanes, of_nearby, scratch, scratch);
  record_told(run, {count, nearby.offsets + n});
  stages.run();

  const std::array<std::int32_t, 3> sizes_of_both = told();
  const std::int32_t aggregates = sizes_of_both[0];
  record_columns_of(run, nearby, aggregates, sizes_of_both[1], lanes, of_nearby, scratch);
  const mapped_columns<aggregates_of_unknowns> of_neighbours{record_transpose(run, nearby, scratch, scratch).view,
                                                             {fine.aggregate}};
  const int lanes_of_neighbours = of_neighbours.A.lanes(4);
  pattern_view neighbours = record_offsets_of(run, aggregates, lanes_of_neighbours, of_neighbours, scratch, scratch);
  record_told(run, {neighbours.offsets + aggregates});
  stages.run();

  record_columns_of(run, neighbours, aggregates, told()[0], lanes_of_neighbours, of_neighbours, scratch);
  C* const sizes = scratch.take<C>(neighbours.nonzeros).data();
  std::uint8_t* const strong = scratch.take<std::uint8_t>(neighbours.nonzeros).data();
  std::int8_t* const has_strong = scratch.take<std::int8_t>(aggregates).data();
  std::int32_t *const joined = scratch.take<std::int32_t>(aggregates).data(),
                      *const numbers = scratch.take<std::int32_t>(aggregates + 1).data();
  run.step("neighbours of aggregates", aggregates, mark_neighbours<C>{neighbours, sizes, strong, has_strong});
  record_aggregation(run, strong_graph<C>{{neighbours, sizes}, strong}, has_strong, joined, numbers, scratch);
  run.step("aggregates of aggregates", n, join_aggregate{joined, fine.aggregate});
  return numbers + aggregates;
}

}  // namespace whilst::multigrid
