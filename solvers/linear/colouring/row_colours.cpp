// compiled by nvcc where CUDA is on
#include "solvers/linear/colouring/row_colours.hpp"

#include <string>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/colouring/row_order.hpp"
#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"

namespace whilst::colouring {
namespace {

using multigrid::level_memory, multigrid::pattern_view;

constexpr std::int32_t uncoloured = -1;

/// Whom entries of A join a row with, either way. One that is given several times counts several times.
struct both_ways {
  pattern_view A, transposed;

  /// Whether test(j) is true of a neighbour j of i among those that the calling thread of a team looks at, up to the
  /// first.
  template <class Team, class Test>
  WHILST_HD bool any(index_type i, const Team& team, const Test& test) const {
    return any_of(A, i, team, test) || any_of(transposed, i, team, test);
  }
  WHILST_HD bool is_long(index_type i) const { return A.is_too_long(i) || transposed.is_too_long(i); }
  /// Calls use(j) for those that hint at an alternating order: a long row would join all rows.
  template <class Use>
  WHILST_HD void each(index_type i, const Use& use) const {
    if (is_long(i)) return;
    any(i, lanes(), [&](std::int32_t j) {
      if (!is_long(j)) use(j);
      return false;
    });
  }

 private:
  template <class Team, class Test>
  WHILST_HD static bool any_of(const pattern_view& of, index_type i, const Team& team, const Test& test) {
    const std::int32_t end = of.offsets[i + 1];
    for (std::int32_t e = of.offsets[i] + team.rank(); e < end; e += team.size())
      if (of.indices[e] != i && test(of.indices[e])) return true;
    return false;
  }
};

struct choose_keys {
  both_ways graph;
  std::uint32_t* parity_then_key;
  WHILST_HD auto operator()(index_type i) const {
    std::uint32_t& key = parity_then_key[i];
    const bool is_long = graph.is_long(i);
    key = (is_long ? 2u : key) << 30 | random_key(i) >> 2;
    return sums{std::int64_t{is_long}};
  }
};
struct tell_long_rows {
  std::int64_t* told;
  WHILST_HD void operator()(const sums<std::int64_t, 1>& found) const { *told = found[0]; }
};
struct begin_uncoloured {
  std::int32_t* colour;
  WHILST_HD void operator()(index_type i) const { colour[i] = uncoloured; }
};

/// A round: colours as they are now, and as they will be.
struct choose_colours {
  both_ways graph;
  row_order order;
  const std::int32_t* now;
  std::int32_t* next;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    std::int32_t colour = now[i];
    if (colour == uncoloured) {
      const bool waits =
          graph.any(i, team, [&](std::int32_t j) { return now[j] == uncoloured && order.is_before(j, i); });
      if (team.sum(waits ? 1 : 0) == 0) colour = least_free(i, team);
    }
    if (team.rank() == 0) next[i] = colour;
  }

 private:
  /// The least colour that no neighbour has, of a very long row the greatest; row_colours::most if there is none.
  template <class Team>
  WHILST_HD std::int32_t least_free(index_type i, const Team& team) const {
    constexpr int bits = 64;
    static_assert(row_colours::most % bits == 0);
    const bool from_top = graph.is_long(i);
    const auto turned = [&](std::int32_t c) { return from_top ? row_colours::most - 1 - c : c; };
    for (std::int32_t first = 0; first < row_colours::most; first += bits) {
      std::uint64_t used = 0;  // by the neighbours that this thread looks at
      graph.any(i, team, [&](std::int32_t j) {
        const std::int32_t colour = turned(now[j]);
        if (colour >= first && colour < first + bits) used |= std::uint64_t{1} << (colour - first);
        return false;
      });
      for (int free = 0; free < bits;) {
        int of_thread = free;
        while (of_thread < bits && (used >> of_thread & 1)) ++of_thread;
        const int of_team = -team.least(-of_thread);
        if (of_team == free) return turned(first + free);
        free = of_team;
      }
    }
    return row_colours::most;
  }
};

/// Closes the gap between the colours of other rows and those of very long ones.
struct close_gap {
  std::int32_t *colour, begin, size;
  WHILST_HD void operator()(index_type i) const {
    if (colour[i] >= begin) colour[i] -= size;
  }
};
struct rounds_told {
  std::int64_t uncoloured, without;  ///< rows that wait, and rows for which there is no colour
};
struct count_uncoloured {
  const std::int32_t* colour;
  WHILST_HD auto operator()(index_type i) const {
    return sums{std::int64_t{colour[i] == uncoloured}, std::int64_t{colour[i] == row_colours::most}};
  }
};
struct tell_rounds {
  rounds_told* told;
  WHILST_HD void operator()(const sums<std::int64_t, 2>& found) const { *told = {found[0], found[1]}; }
};

/// A matrix with one entry a row, in the column of its colour: the rows of its transpose are what colours have.
struct number_rows {
  std::int32_t* offsets;
  WHILST_HD void operator()(index_type i) const { offsets[i] = static_cast<std::int32_t>(i); }
};
struct copy_rows {
  const std::int32_t* from;
  std::int32_t* to;
  WHILST_HD void operator()(index_type k) const { to[k] = from[k]; }
};
struct tell_offsets {
  const std::int32_t* offsets;
  std::int32_t* told;
  WHILST_HD void operator()(index_type c) const { told[c] = offsets[c]; }
};

}  // namespace

row_colours colour_rows(std::string_view doing, std::string_view cure, place where, const multigrid::pattern_view& A,
                        multigrid::level_memory& kept, multigrid::level_memory& scratch) {
  constexpr int rounds_at_once = 8, most_rounds = 4096;
  const index_type n = A.rows;
  std::int32_t *colour = kept.take<std::int32_t>(n).data(), *next = scratch.take<std::int32_t>(n).data();
  program_recorder ordering(where);
  const both_ways graph{A, record_transpose(ordering, A, scratch, scratch).view};
  std::uint32_t* const keys = record_alternating_keys(ordering, n, graph, scratch);
  const buffer<std::int64_t> long_rows_told(where, 1);
  ordering.step("the order of choosing", n, choose_keys{graph, keys}, tell_long_rows{long_rows_told.data()});
  ordering.step("no colours", n, begin_uncoloured{colour});
  run_now(std::move(ordering).finish(), where);

  std::int64_t long_rows = 0;
  long_rows_told.download(&long_rows);
  const int lanes = long_rows > 0 ? 32 : A.lanes(4);

  const buffer<rounds_told> told(where, 1);
  rounds_told found{n, 0};
  for (int rounds = 0; found.uncoloured > 0; rounds += rounds_at_once) {
    static_assert(rounds_at_once % 2 == 0, "the last round writes where the first one has read");
    program_recorder choosing(where);
    for (int round = 0; round < rounds_at_once; ++round) {
      choosing.step("choose colours", n, choose_colours{graph, {keys}, colour, next, lanes});
      std::swap(colour, next);
    }
    choosing.step("rows without a colour", n, count_uncoloured{colour}, tell_rounds{told.data()});
    run_now(std::move(choosing).finish(), where);
    told.download(&found);
    if (found.without > 0)
      throw error(
          doing, "rows have so many entries that they take more than " + std::to_string(row_colours::most) + " colours",
          cure);
    if (found.uncoloured > 0 && rounds + rounds_at_once >= most_rounds)
      throw error(doing, "rows wait for each other's colours for more than " + std::to_string(most_rounds) + " rounds",
                  cure);
  }

  program_recorder sorting(where);
  std::int32_t* const numbers = scratch.take<std::int32_t>(n + 1).data();
  sorting.step("numbers of rows", n + 1, number_rows{numbers});
  const multigrid::pattern_view by_colour =
      record_transpose(sorting, {n, row_colours::most, n, numbers, colour}, scratch, scratch).view;
  const buffer<std::int32_t> offsets(where, row_colours::most + 1);
  sorting.step("where colours begin", row_colours::most + 1, tell_offsets{by_colour.offsets, offsets.data()});
  std::int32_t* const rows = kept.take<std::int32_t>(n).data();
  sorting.step("rows by colours", n, copy_rows{by_colour.indices, rows});
  run_now(std::move(sorting).finish(), where);
  std::vector<std::int32_t> begins(row_colours::most + 1);
  offsets.download(begins.data());
  row_colours made{colour, rows, {0}, 0};
  for (std::size_t c = 0; c < row_colours::most; ++c)
    if (begins[c + 1] > begins[c]) made.offsets.push_back(begins[c + 1]);
  while (made.very_long < made.count() &&
         begins[static_cast<std::size_t>(made.very_long)] < begins[static_cast<std::size_t>(made.very_long) + 1])
    ++made.very_long;
  if (made.very_long == made.count()) return made;
  program_recorder closing(where);
  closing.step("colours without a gap", n, close_gap{colour, made.very_long, row_colours::most - made.count()});
  run_now(std::move(closing).finish(), where);
  return made;
}

}  // namespace whilst::colouring
