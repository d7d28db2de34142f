#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/strength.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// Aggregates around the roots of a maximal independent set of distance 2: a root and its neighbours are one. N. Bell,
/// S. Dalton, L. N. Olson, "Exposing fine-grained parallelism in algebraic multigrid methods", SIAM J. Sci. Comput. 34
/// (2012), C123, algorithm 5, with priorities that are drawn anew in each round, and a second set among the unknowns
/// that are left, of those with at least two such neighbours: B. Kelley, S. Rajamanickam, "Parallel, portable
/// algorithms for distance-2 maximal independent set and graph coarsening", IPDPS 2022, algorithms 1 and 3. Others join
/// the aggregate to which their strongest neighbour belongs. Aggregates are numbered in the order of their roots.
/// Random numbers are hashes, so the same graph has the same aggregates everywhere.
///
/// Records how the unknowns are divided. has_strong: of each, whether it has neighbours; aggregate: receives the number
/// of its aggregate, -1 for an unknown that is in none; count: their number, at [rows] of an array.
template <class C>
void record_aggregation(recorder& run, const strong_graph<C>& graph, const std::int8_t* has_strong,
                        std::int32_t* aggregate, std::int32_t* numbers, level_memory& scratch);

}  // namespace whilst::multigrid
