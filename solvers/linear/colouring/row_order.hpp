#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::colouring {

/// An order of rows: by keys, and where these are equal by number.
struct row_order {
  const std::uint32_t* key = nullptr;  ///< null for the matrix's own order

  WHILST_HD bool is_before(index_type j, index_type i) const {
    if (key && key[j] != key[i]) return key[j] < key[i];
    return j < i;
  }
};

/// A key that is a hash: the finalizer of MurmurHash3.
WHILST_HD inline std::uint32_t random_key(index_type i) {
  auto x = static_cast<std::uint32_t>(i) + 0x9e3779b9u;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

/// Keys of 0 and 1 that alternate along edges, as far as the graph is bipartite: on grids, red and black. Each row that
/// has a neighbour before it hangs on the first of these, and its key is the parity of its depth in that tree. Graph:
/// each(i, use) calls use(j, ...) for the neighbours of i.
///
/// A row's word is an ancestor, times 2, and the parity of the edges up to it.
template <class Graph>
struct first_ancestor {
  Graph graph;
  std::uint32_t* words;
  WHILST_HD void operator()(index_type i) const {
    auto first = static_cast<std::int32_t>(i);
    graph.each(i, [&](std::int32_t j, auto...) { first = j < first ? j : first; });
    words[i] = static_cast<std::uint32_t>(first) * 2 + (first < i);
  }
};
/// The ancestor's ancestor.
struct farther_ancestor {
  const std::uint32_t* words;
  std::uint32_t* farther;
  WHILST_HD void operator()(index_type i) const {
    const std::uint32_t own = words[i];
    farther[i] = words[own / 2] ^ (own & 1);
  }
};
struct parity_of_depth {
  std::uint32_t* words;
  WHILST_HD void operator()(index_type i) const { words[i] &= 1; }
};
/// Records how these keys of n rows are found, in memory of `scratch`.
template <class Graph>
std::uint32_t* record_alternating_keys(recorder& run, index_type n, const Graph& graph,
                                       multigrid::level_memory& scratch) {
  std::uint32_t *words = scratch.take<std::uint32_t>(n).data(), *farther = scratch.take<std::uint32_t>(n).data();
  run.step("the first neighbours", n, first_ancestor<Graph>{graph, words});
  for (int doublings = std::bit_width(static_cast<std::uint64_t>(n)); doublings > 0; --doublings) {
    run.step("their ancestors", n, farther_ancestor{words, farther});
    std::swap(words, farther);
  }
  run.step("every second row", n, parity_of_depth{words});
  return words;
}

}  // namespace whilst::colouring
