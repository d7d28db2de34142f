#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::colouring {

/// Rows divided by colours: no entry of the matrix joins two rows of a colour, whichever way it points.
struct row_colours {
  const std::int32_t* colour = nullptr;     ///< of each row, in memory of the place
  const std::int32_t* rows = nullptr;       ///< those of colour 0 in order, then those of colour 1, and so on; likewise
  std::vector<std::int32_t> offsets = {0};  ///< where colours begin among these, and the end
  int very_long = 0;                        ///< the first colour of very long rows, which have colours of their own

  int count() const { return static_cast<int>(offsets.size()) - 1; }
  std::int32_t begin_of(int c) const { return offsets[static_cast<std::size_t>(c)]; }
  index_type rows_of(int c) const { return begin_of(c + 1) - begin_of(c); }
  /// Threads that share a row of colour c, which usually take `lanes`.
  int lanes_of(int c, int lanes) const { return c < very_long ? lanes : 32; }
  const std::int32_t* first_row_of(int c) const { return rows + begin_of(c); }

  static constexpr int most = 256;
};

/// Colours the rows of a square pattern, in pieces of `kept`, where they lie, by recorded steps; waits.
///
/// In rounds: a row that comes before all neighbours without a colour takes the least colour that none of its
/// neighbours has. M. T. Jones, P. E. Plassmann, "A parallel graph coloring heuristic", SIAM J. Sci. Comput. 14 (1993)
/// 654-669. Rows whose distance to the start of a tree through the graph is even come first, which makes grids red and
/// black in two rounds if their points are numbered along lines, or by levels; among these, and among the others, a
/// hash decides. Very long rows come last, in the order of their hashes, and have other colours than the rest, so that
/// a warp can go through each, unless colours run out. So the same pattern has the same colours everywhere.
///
/// Runs at once, so what fills the pattern must have run. Throws whilst::error, which begins with `doing` and ends with
/// `cure`, where that takes more than row_colours::most colours, or more rounds than are likely for any pattern.
row_colours colour_rows(std::string_view doing, std::string_view cure, place where, const multigrid::pattern_view& A,
                        multigrid::level_memory& kept, multigrid::level_memory& scratch);

}  // namespace whilst::colouring
