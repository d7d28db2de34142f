#pragma once

#include <cstdint>
#include <string_view>

#include "solvers/linear/approximate_inverse/strong_edges.hpp"
#include "solvers/linear/colouring/row_order.hpp"
#include "solvers/linear/multigrid/level_memory.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::approximate_inverse {

using colouring::row_order;

/// Along a chain of n rows, in a random order a row reaches about 2 log(n) others through earlier ones, on average.
struct put_random_key {
  std::uint32_t* key;
  WHILST_HD void operator()(index_type i) const { key[i] = colouring::random_key(i); }
};

/// Records how the order in which A = L L' is thought of is found, by its name: "alternating", "random" or "none".
inline row_order record_order(recorder& run, std::string_view name, const strong_edges& graph,
                              multigrid::level_memory& scratch) {
  const index_type n = graph.A.pattern.rows;
  if (name == "none") return {};
  if (name == "alternating") return {colouring::record_alternating_keys(run, n, graph, scratch)};
  std::uint32_t* const keys = scratch.take<std::uint32_t>(n).data();
  run.step("a random order", n, put_random_key{keys});
  return {keys};
}

}  // namespace whilst::approximate_inverse
