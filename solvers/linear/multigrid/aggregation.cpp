// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/multigrid/aggregation.hpp"

#include "solvers/linear/multigrid/chance.hpp"
#include "solvers/linear/multigrid/patterns/offsets_from_counts.hpp"

namespace whilst::multigrid {
namespace {

/// What an unknown is while roots are chosen.
enum : std::int8_t { apart = -1, near_a_root = 0, undecided = 1, root = 2 };

/// Which of two unknowns is chosen first: roots before all, then by chance, then by number; 0 for those that cannot be.
struct priorities {
  const std::int8_t* state;
  std::uint32_t round;

  static constexpr std::uint64_t least_of_roots = std::uint64_t{1} << 63;
  WHILST_HD std::uint64_t operator()(index_type i) const { return of(i, state[i]); }
  WHILST_HD std::uint64_t of(index_type i, std::int8_t here) const {
    if (here <= near_a_root) return 0;
    const auto number = static_cast<std::uint32_t>(i);
    if (here == root) return least_of_roots | number;
    return std::uint64_t{chance(number + 0x9e3779b9u * round) >> 1} << 32 | (number + 1);
  }
};

/// The columns of strong entries; that of another entry is replaced by its row, so that no flag is asked for.
struct neighbours_or_self {
  pattern_view A;
  const std::int32_t* columns;

  /// What use(j, data[j]) is called for: those that the calling thread works on. Data of a few are on the way together.
  template <class Data, class Team, class Use>
  WHILST_HD void each(index_type i, const Team& team, const Data* data, const Use& use) const {
    constexpr int at_once = 4;
    const std::int32_t end = A.offsets[i + 1];
    for (std::int32_t e = A.offsets[i] + team.rank(); e < end; e += at_once * team.size()) {
      std::int32_t j[at_once];
      Data of[at_once];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < at_once; ++k) {
        const std::int32_t at = e + k * team.size();
        j[k] = at < end ? columns[at] : static_cast<std::int32_t>(i);
      }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < at_once; ++k) of[k] = data[j[k]];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < at_once; ++k) use(j[k], of[k]);
    }
  }
};
template <class C>
struct list_neighbours {
  strong_graph<C> graph;
  std::int32_t* columns;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    graph.A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      columns[e] = graph.joins(e) ? j : static_cast<std::int32_t>(i);
    });
  }
};

/// The first among an unknown and its neighbours. Where nobody is undecided any more, that is settled.
struct first_nearby {
  neighbours_or_self graph;
  priorities priority;
  std::int8_t* is_settled;
  std::uint64_t* first;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    if (is_settled[i]) return;
    std::uint64_t most = 0;
    int undecided_here = 0;
    if (priority.state[i] != apart) {
      most = priority(i);
      undecided_here = priority.state[i] == undecided;
      graph.each(i, team, priority.state, [&](std::int32_t j, std::int8_t state) {
        const std::uint64_t other = priority.of(j, state);
        undecided_here |= state == undecided;
        if (other > most) most = other;
      });
    }
    most = ~team.least(~most);
    undecided_here = team.sum(undecided_here);
    if (team.rank() > 0) return;
    first[i] = most;
    is_settled[i] = undecided_here == 0;
  }
};
/// An unknown that is first up to distance 2 becomes a root; one that is as near to a root, none.
struct decide {
  neighbours_or_self graph;
  priorities priority;
  const std::uint64_t* first;
  std::int8_t* state;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    if (state[i] != undecided) return;
    std::uint64_t most = first[i];
    graph.each(i, team, first, [&](std::int32_t, std::uint64_t of_neighbour) {
      if (of_neighbour > most) most = of_neighbour;
    });
    most = ~team.least(~most);
    const bool is_root = most == priority(i), has_root = most >= priorities::least_of_roots;
    team.sync();  // all have read the state
    if (team.rank() == 0 && (is_root || has_root)) state[i] = is_root ? root : near_a_root;
  }
};
struct begin_first {
  const std::int8_t* has_strong;
  std::int8_t *state, *is_settled;
  std::int32_t* root_of;
  WHILST_HD void operator()(index_type i) const {
    state[i] = has_strong[i] ? undecided : apart;
    is_settled[i] = 0;
    root_of[i] = -1;
  }
};
template <class C>
struct begin_second {
  strong_graph<C> graph;
  const std::int8_t* has_strong;
  const std::int32_t* root_of;
  std::int8_t *state, *is_settled;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const bool is_left = has_strong[i] && root_of[i] < 0;
    int others = 0;
    if (is_left) graph.each_neighbour(i, team, [&](std::int32_t j, C) { others += root_of[j] < 0; });
    others = team.sum(others);
    if (team.rank() > 0) return;
    state[i] = !is_left ? apart : others >= 2 ? undecided : near_a_root;
    is_settled[i] = 0;
  }
};

/// The strongest neighbour that counts, the first of several; -1 for none.
template <class C, class Team, class Counts>
WHILST_HD std::int32_t strongest_neighbour(const strong_graph<C>& graph, index_type i, const Team& team,
                                           const Counts& counts) {
  C most = 0;
  std::int32_t which = -1;
  graph.each_neighbour(i, team, [&](std::int32_t j, C size) {
    if (!counts(j) || size < most || (size == most && which >= 0 && which < j)) return;
    most = size;
    which = j;
  });
  const C most_of_team = -team.least(-most);
  constexpr std::int32_t nobody = 0x7fffffff;
  const std::int32_t found = team.least(which >= 0 && most == most_of_team ? which : nobody);
  return found == nobody ? -1 : found;
}

/// Roots and their neighbours.
template <class C>
struct join_roots {
  strong_graph<C> graph;
  const std::int8_t* state;
  std::int32_t* root_of;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    if (state[i] == apart) return;
    const std::int32_t found =
        state[i] == root ? static_cast<std::int32_t>(i)
                         : strongest_neighbour(graph, i, team, [&](std::int32_t j) { return state[j] == root; });
    if (team.rank() == 0 && found >= 0) root_of[i] = found;
  }
};
/// Whoever is left.
template <class C>
struct join_neighbour {
  strong_graph<C> graph;
  const std::int32_t* root_of;
  std::int32_t* joined;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    std::int32_t found = root_of[i];
    if (found < 0) {
      const std::int32_t nearest = strongest_neighbour(graph, i, team, [&](std::int32_t j) { return root_of[j] >= 0; });
      if (nearest >= 0) found = root_of[nearest];
    }
    if (team.rank() == 0) joined[i] = found;
  }
};

struct is_own_root {
  const std::int32_t* root_of;
  std::int32_t* count;
  WHILST_HD void operator()(index_type i) const { count[i] = root_of[i] == i; }
};
struct number_of_root {
  const std::int32_t *root_of, *numbers;
  std::int32_t* aggregate;
  WHILST_HD void operator()(index_type i) const { aggregate[i] = root_of[i] < 0 ? -1 : numbers[root_of[i]]; }
};

}  // namespace

template <class C>
void record_aggregation(recorder& run, const strong_graph<C>& graph, const std::int8_t* has_strong,
                        std::int32_t* aggregate, std::int32_t* numbers, level_memory& scratch) {
  const index_type n = graph.A.pattern.rows;
  const int lanes = graph.A.pattern.lanes(4);
  std::int8_t *const state = scratch.take<std::int8_t>(n).data(), *const is_settled =
                                                                      scratch.take<std::int8_t>(n).data();
  std::uint64_t* const first = scratch.take<std::uint64_t>(n).data();
  std::int32_t *const root_of = scratch.take<std::int32_t>(n).data(),
                      *const joined = scratch.take<std::int32_t>(n).data(),
                      *const count = scratch.take<std::int32_t>(n).data(),
                      *const columns = scratch.take<std::int32_t>(graph.A.pattern.nonzeros).data();
  // A round decides on two of three that are left. Whoever is not decided on in the first rounds may become a root in
  // the others, and whoever is not even then, joins a neighbour.
  constexpr int first_rounds = 8, other_rounds = 4;
  const neighbours_or_self nearby{graph.A.pattern, columns};
  const auto choose_roots = [&](int begin, int end) {
    for (int round = begin; round < end; ++round) {
      const priorities priority{state, static_cast<std::uint32_t>(round)};
      run.step("the first nearby", n, first_nearby{nearby, priority, is_settled, first, lanes});
      run.step("decide", n, decide{nearby, priority, first, state, lanes});
    }
    run.step("join roots", n, join_roots<C>{graph, state, root_of, lanes});
  };
  run.step("neighbours", n, list_neighbours<C>{graph, columns, lanes});
  run.step("begin", n, begin_first{has_strong, state, is_settled, root_of});
  choose_roots(0, first_rounds);
  run.step("begin again", n, begin_second<C>{graph, has_strong, root_of, state, is_settled, lanes});
  choose_roots(first_rounds, first_rounds + other_rounds);
  run.step("join neighbours", n, join_neighbour<C>{graph, root_of, joined, lanes});
  run.step("join neighbours' neighbours", n, join_neighbour<C>{graph, joined, root_of, lanes});
  run.step("roots", n, is_own_root{root_of, count});
  record_offsets(run, n, count, numbers, scratch);
  run.step("numbers of aggregates", n, number_of_root{root_of, numbers, aggregate});
}

template void record_aggregation(recorder&, const strong_graph<WHILST_NUMBER>&, const std::int8_t*, std::int32_t*,
                                 std::int32_t*, level_memory&);

}  // namespace whilst::multigrid
