#pragma once

/// @file
/// Rows divided among ranks by METIS. Needs metis.h of METIS 5; link it, as with -lmetis. The library itself never
/// does.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <metis.h>

#include "whilst/basics/error.hpp"
#include "whilst/linear/distributed/row_parts.hpp"

namespace whilst {

namespace detail {

inline constexpr const char* calling_metis = "dividing rows among ranks by METIS";

/// Numbers as METIS takes them: of 32 or 64 bits, as it was built.
template <class From>
std::vector<idx_t> for_metis(const std::vector<From>& numbers) {
  std::vector<idx_t> made(numbers.size());
  std::transform(numbers.begin(), numbers.end(), made.begin(), [](From one) { return static_cast<idx_t>(one); });
  return made;
}

/// What METIS counts, it must be able to number. The sum of all work is the larger number, or else that of neighbours.
inline void require_fits_metis(const row_graph& graph) {
  const std::int64_t work = std::accumulate(graph.work.begin(), graph.work.end(), std::int64_t{0});
  const std::int64_t most = std::max(work, graph.offsets.back());
  if (std::in_range<idx_t>(most)) return;
  throw error(calling_metis,
              "the graph of the rows counts up to " + std::to_string(most) + ", and this METIS to " +
                  std::to_string(std::numeric_limits<idx_t>::max()),
              "Use one built with IDXTYPEWIDTH 64, or parts_by_rcm");
}

inline void check_metis(int code) {
  if (code == METIS_OK) return;
  if (code == METIS_ERROR_MEMORY)
    throw error(calling_metis, "METIS ran out of memory", "Use parts_by_rcm, which needs less");
  throw error(calling_metis, "METIS reported error " + std::to_string(code), "Use parts_by_rcm");
}

}  // namespace detail

/// The rank of each row, from 0 to ranks - 1, so that all have about the same work, within 3 %, and few ghosts: by
/// METIS_PartGraphKway, which makes what ranks send small, their *communication volume*: ghosts, where the pattern is
/// symmetric. Another pattern counts as that of A + A'. The same on every run. With fewer than 8 rows a rank METIS has
/// nothing to choose from, and the result is that of parts_by_rcm. A: square, in host memory. One thread at a time
/// calls it. Throws whilst::error where parts_by_rcm does, where METIS fails, and where its integers are too short for
/// the graph.
///
/// G. Karypis, V. Kumar, "Multilevel k-way partitioning scheme for irregular graphs", J. Parallel Distrib. Comput. 48
/// (1998) 96-129.
template <class T>
std::vector<int> parts_by_metis(const csr_matrix<T>& A, int ranks) {
  if (ranks < 2 || A.rows() / 8 < ranks) return parts_by_rcm(A, ranks);
  std::vector<idx_t> offsets, neighbours, work;
  {
    const row_graph graph = graph_of_rows(A);
    detail::require_fits_metis(graph);
    offsets = detail::for_metis(graph.offsets);
    neighbours = detail::for_metis(graph.neighbours);
    work = detail::for_metis(graph.work);
  }
  std::array<idx_t, METIS_NOPTIONS> options;
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_VOL;
  options[METIS_OPTION_SEED] = 1;
  idx_t rows = static_cast<idx_t>(A.rows()), constraints = 1, parts = ranks, volume = 0;
  std::vector<idx_t> part_of_row(work.size());
  detail::check_metis(METIS_PartGraphKway(&rows, &constraints, offsets.data(), neighbours.data(), work.data(), nullptr,
                                          nullptr, &parts, nullptr, nullptr, options.data(), &volume,
                                          part_of_row.data()));
  return {part_of_row.begin(), part_of_row.end()};
}

}  // namespace whilst
