#pragma once

#include <limits>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/multigrid/offsets_from_counts.hpp"
#include "solvers/linear/multigrid/sparse_pattern.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst::multigrid {

/// No column.
inline constexpr std::int32_t no_column = std::numeric_limits<std::int32_t>::max();

/// A set of columns for each row, as a Source tells it: next(i, last, team) is the least column of row i beyond `last`
/// (begin with -1) that the calling thread of the team knows of, or no_column. So rows come out in order, without
/// duplicates, and take no memory on the way.
template <class Source>
struct count_columns {
  Source source;
  std::int32_t* counts;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    std::int32_t count = 0;
    for (std::int32_t column = team.least(source.next(i, -1, team)); column != no_column;
         column = team.least(source.next(i, column, team)))
      ++count;
    if (team.rank() == 0) counts[i] = count;
  }
};
template <class Source>
struct put_columns {
  Source source;
  const std::int32_t* offsets;
  std::int32_t* indices;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    std::int32_t to = offsets[i];
    for (std::int32_t column = team.least(source.next(i, -1, team)); column != no_column;
         column = team.least(source.next(i, column, team))) {
      if (team.rank() == 0) indices[to] = column;
      ++to;
    }
  }
};

/// The pattern whose rows are those sets; lanes: the threads that share a row.
template <class Source>
sparse_pattern pattern_of(place where, index_type rows, index_type columns, int lanes, const Source& source) {
  buffer<std::int32_t> counts(where, rows), offsets(where, rows + 1);
  const offsets_from_counts add_up(where, rows);
  program_recorder counting(where);
  counting.step("count a row's columns", rows, count_columns<Source>{source, counts.data(), lanes});
  add_up.record(counting, counts.data(), offsets.data());
  run_now(std::move(counting).finish(), where);
  const std::int32_t nonzeros = offsets.element(rows);
  if (!offsets_suffice_32(nonzeros))
    throw error("making preconditioner amg", "a level has more than 2147483391 nonzeros",
                "Use another preconditioner, or single precision and fewer unknowns");
  buffer<std::int32_t> indices(where, nonzeros);
  program_recorder filling(where);
  filling.step("put a row's columns", rows, put_columns<Source>{source, offsets.data(), indices.data(), lanes});
  run_now(std::move(filling).finish(), where);
  return {rows, columns, std::move(offsets), std::move(indices)};
}

/// The rows of a product A B: the union of the rows of B that row i of A names.
struct columns_of_product {
  pattern_view A, B;

  template <class Team>
  WHILST_HD std::int32_t next(index_type i, std::int32_t last, const Team& team) const {
    std::int32_t least = no_column;
    A.each_entry(i, team, [&](std::int32_t, std::int32_t k) {
      const std::int32_t at = B.find(k, last + 1);
      if (at < B.offsets[k + 1] && B.indices[at] < least) least = B.indices[at];
    });
    return least;
  }
};

}  // namespace whilst::multigrid
