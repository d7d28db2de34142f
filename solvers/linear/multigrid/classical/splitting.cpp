// compiled by nvcc where CUDA is on
#include "solvers/linear/multigrid/classical/splitting.hpp"

#include "solvers/linear/multigrid/chance.hpp"
#include "solvers/linear/multigrid/patterns/offsets_from_counts.hpp"

namespace whilst::multigrid {
namespace {

/// What an unknown is while the coarse ones are chosen.
enum : std::int8_t { fine_unknown = 0, open_unknown = 1, coarse_unknown = 2 };

/// Unknowns with those on which they depend, and those that depend on them.
struct dependences {
  pattern_view S, dependents;
  std::int8_t* state;
  int lanes;

  WHILST_HD std::int32_t count_of_dependents(index_type i) const {
    return dependents.offsets[i + 1] - dependents.offsets[i];
  }
  /// No two are equal.
  WHILST_HD std::uint64_t priority(index_type i) const {
    return static_cast<std::uint64_t>(count_of_dependents(i)) << 32 | chance(static_cast<std::uint32_t>(i));
  }
};

struct begin_splitting {
  dependences graph;
  WHILST_HD void operator()(index_type i) const {
    graph.state[i] = graph.count_of_dependents(i) > 0 ? open_unknown : fine_unknown;
  }
};
/// Whether an open unknown comes before all open ones around it.
struct find_first {
  dependences graph;
  std::uint8_t* is_first;

  WHILST_HD int lanes_wanted() const { return graph.lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const bool is_open = graph.state[i] == open_unknown;
    int later = 0;
    if (is_open) {
      const std::uint64_t own = graph.priority(i);
      const auto compare = [&](std::int32_t, std::int32_t j) {
        later += graph.state[j] == open_unknown && graph.priority(j) > own;
      };
      graph.S.each_entry(i, team, compare);
      graph.dependents.each_entry(i, team, compare);
    }
    later = team.sum(later);
    if (team.rank() == 0) is_first[i] = is_open && later == 0;
  }
};
/// It becomes coarse, and open ones that depend on it become fine.
struct settle {
  dependences graph;
  const std::uint8_t* is_first;

  WHILST_HD int lanes_wanted() const { return graph.lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    if (graph.state[i] != open_unknown) return;
    int depends = 0;
    graph.S.each_entry(i, team, [&](std::int32_t, std::int32_t j) { depends += is_first[j]; });
    depends = team.sum(depends);
    team.sync();  // all have read the state
    if (team.rank() == 0 && (is_first[i] || depends > 0)) graph.state[i] = is_first[i] ? coarse_unknown : fine_unknown;
  }
};
/// After the last round those that are still open are coarse, too: they depend on no coarse one.
struct is_coarse {
  const std::int8_t* state;
  std::int32_t* count;
  WHILST_HD void operator()(index_type i) const { count[i] = state[i] != fine_unknown; }
};
struct number_of_coarse {
  const std::int32_t *count, *numbers;
  std::int32_t* coarse;
  WHILST_HD void operator()(index_type i) const { coarse[i] = count[i] ? numbers[i] : -1; }
};

}  // namespace

void record_splitting(recorder& run, const pattern_view& S, const transposed_pattern& dependents, std::int32_t* coarse,
                      std::int32_t* numbers, level_memory& scratch) {
  const index_type n = S.rows;
  const dependences graph{S, dependents.view, scratch.take<std::int8_t>(n).data(), S.lanes(4)};
  std::uint8_t* const is_first = scratch.take<std::uint8_t>(n).data();
  std::int32_t* const count = scratch.take<std::int32_t>(n).data();
  constexpr int rounds = 12;  // grids of a million unknowns are settled after 8
  run.step("begin", n, begin_splitting{graph});
  for (int round = 0; round < rounds; ++round) {
    run.step("the first nearby", n, find_first{graph, is_first});
    run.step("settle", n, settle{graph, is_first});
  }
  run.step("coarse unknowns", n, is_coarse{graph.state, count});
  record_offsets(run, n, count, numbers, scratch);
  run.step("numbers of coarse unknowns", n, number_of_coarse{count, numbers, coarse});
}

}  // namespace whilst::multigrid
