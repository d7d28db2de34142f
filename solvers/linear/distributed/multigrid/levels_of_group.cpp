// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/distributed/multigrid/levels_of_group.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "solvers/linear/multigrid/aggregation.hpp"
#include "solvers/linear/multigrid/chance.hpp"
#include "solvers/linear/multigrid/cycles/smoother_values.hpp"
#include "solvers/linear/multigrid/patterns/longest_row.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"

namespace whilst::multigrid {
namespace {

constexpr double smoothing_across_ranks = 4.0 / 3;  // as on one rank

std::size_t at(index_type i) { return static_cast<std::size_t>(i); }

template <class V>
struct fill_entries {
  V value;
  V* to;
  WHILST_HD void operator()(index_type i) const { to[i] = value; }
};
/// Ghosts get other numbers.
struct renumber_ghosts {
  std::int32_t* indices;
  std::int32_t own;
  const std::int32_t* now;
  WHILST_HD void operator()(index_type e) const {
    if (indices[e] >= own) indices[e] = now[indices[e] - own];
  }
};
/// Whether a row is in no aggregate, though ghosts are strong.
struct is_left {
  pattern_view A;
  const std::uint8_t* strong;
  const std::int32_t* aggregate;
  std::int32_t own;
  std::uint8_t* is;
  WHILST_HD void operator()(index_type i) const {
    bool has_strong = false;
    for (std::int32_t e = A.offsets[i]; e < A.offsets[i + 1]; ++e) has_strong |= strong[e] && A.indices[e] >= own;
    is[i] = aggregate[i] < 0 && has_strong;
  }
};
template <class V>
struct put_entries {
  const std::int32_t* which;
  const V* values;
  V* to;
  WHILST_HD void operator()(index_type k) const { to[which[k]] = values[k]; }
};
/// Whether a row's last column is a ghost.
struct names_ghost {
  pattern_view A;
  std::int32_t own;
  std::uint8_t* does;
  WHILST_HD void operator()(index_type i) const {
    const std::int32_t end = A.offsets[i + 1];
    does[i] = end > A.offsets[i] && A.indices[end - 1] >= own;
  }
};
/// [S | Q] by the numbers of the cycle: own unknowns, its ghosts, and the coarser level's, likewise.
struct put_way_up_of_group {
  pattern_view A, Q;
  std::int32_t *offsets, *indices;
  std::int32_t own, with_ghosts, own_coarse;
  const std::int32_t *ghosts, *coarse_ghosts;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const std::int32_t before_A = A.offsets[i], before_Q = Q.offsets[i];
    std::int32_t* const of_S = indices + before_Q;
    std::int32_t* const of_Q = indices + A.offsets[i + 1];
    A.each_entry(i, team, [&](std::int32_t e, std::int32_t j) { of_S[e] = j < own ? j : ghosts[j - own]; });
    Q.each_entry(i, team, [&](std::int32_t q, std::int32_t g) {
      of_Q[q] = with_ghosts + (g < own_coarse ? g : coarse_ghosts[g - own_coarse]);
    });
    if (team.rank() > 0) return;
    offsets[i] = before_A + before_Q;
    if (i + 1 == A.rows) offsets[i + 1] = A.offsets[i + 1] + Q.offsets[i + 1];
  }
};

/// An aggregate, by the rank that has it and its number there; -1 for none.
struct aggregate_of_rank {
  std::int32_t rank = 0, number = -1;
};
/// An entry of a matrix, by global numbers.
struct entry_named {
  index_type row, column;
};
/// Entries that are to be sent: for each rank which ones, and in their order the rows they are of.
struct entries_to_send {
  std::vector<std::vector<std::int32_t>> for_rank;
  std::vector<std::vector<index_type>> rows;

  explicit entries_to_send(int ranks) : for_rank(at(ranks)), rows(at(ranks)) {}
  void add(int q, std::int32_t entry, index_type row) {
    for_rank[at(q)].push_back(entry);
    rows[at(q)].push_back(row);
  }
  std::vector<index_type> all_rows() const {
    std::vector<index_type> all;
    for (const auto& some : rows) all.insert(all.end(), some.begin(), some.end());
    return all;
  }
};

/// The first rows of a pattern, which have so many entries.
pattern_view rows_of(pattern_view pattern, index_type rows, index_type nonzeros) {
  pattern.rows = rows;
  pattern.nonzeros = nonzeros;
  return pattern;
}
/// Rows of a pattern, in host memory: calls visit(k, e, column) for each entry e of the k-th row listed.
template <class Visit>
void for_rows(const host_copies& copies, const pattern_view& pattern, const std::vector<std::int32_t>& rows,
              const Visit& visit) {
  const buffer<std::int32_t> listed(copies.where(), static_cast<index_type>(rows.size()), rows.data());
  const auto begins = copies.fetched(pattern.offsets, listed), ends = copies.fetched(pattern.offsets + 1, listed);
  std::vector<std::int32_t> entries;
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (std::int32_t e = begins[k]; e < ends[k]; ++e) entries.push_back(e);
  const auto columns = copies.fetched(
      pattern.indices, buffer<std::int32_t>(copies.where(), static_cast<index_type>(entries.size()), entries.data()));
  std::size_t next = 0;
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (std::int32_t e = begins[k]; e < ends[k]; ++e) visit(k, e, columns[next++]);
}

}  // namespace

template <class C>
levels_of_group<C>::levels_of_group(const exchange& ranks, const local_numbers& named, const halo_plan& plan,
                                    const pattern_view& A, const C* values, const amg_options& options)
    : ranks_(ranks),
      where_(ranks.where()),
      copies_(where_),
      options_(options),
      kept_(where_, 40 * at(A.nonzeros) + 900 * at(A.rows) + 4096),
      scratch_(std::in_place, kept_) {
  level_of_group<C> finest;
  finest.is_finest = true;
  finest.named = named;
  finest.A = A;
  finest.A_values = const_cast<C*>(values);
  build(std::move(finest), plan);
  scratch_.reset();
}

template <class C>
void levels_of_group<C>::build(level_of_group<C> level, const halo_plan& plan) {
  const index_type few = rows_gathered(where_);
  exchange_by(level, plan);
  while (true) {
    const index_type rows = level.named.partition.rows();
    const bool may = static_cast<int>(levels_.size()) + 1 < options_.most_levels;
    local_numbers coarse;
    if (rows <= few || !may || !coarsen(level, coarse)) {
      if (may && rows <= most_gathered * few) {
        gather(level);
      } else {
        smooth_alone(level);
        levels_.push_back(std::move(level));
      }
      break;
    }
    level_of_group<C> next;
    next.named = std::move(coarse);
    next.A = level.coarse;
    next.A_values = level.coarse_values;
    levels_.push_back(std::move(level));
    level = std::move(next);
    exchange_by(level, make_halo_plan(ranks_.ranks(), level.named.partition, level.named.ghosts));
  }
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    if (k + 1 < levels_.size()) {
      take_cycle(levels_[k], levels_[k + 1].named, levels_[k + 1].ghosts);
    } else {
      const local_numbers& below = gathered() ? gathered_.numbers : local_numbers{};
      take_cycle(levels_[k], below, below.ghosts);
    }
  }
}

template <class C>
void levels_of_group<C>::exchange_by(level_of_group<C>& level, const halo_plan& plan) {
  std::vector<std::vector<std::int32_t>> for_rank(at(ranks_.ranks().size()));
  for (const halo_neighbour& one : plan.neighbours)
    for_rank[at(one.rank)].assign(plan.send_indices.begin() + one.send_begin, plan.send_indices.begin() + one.send_end);
  level.of_vector = exchanged_entries(making, ranks_.ranks(), where_, for_rank);
}

template <class C>
bool levels_of_group<C>::coarsen(level_of_group<C>& fine, local_numbers& coarse) {
  coarse = divide(fine);
  if (coarse.partition.rows() == 0 || coarse.partition.rows() * 10 > fine.named.partition.rows() * 9) {
    fine.coarse_rows = 0;
    return false;
  }
  fine.has_coarser = true;
  find_prolongation(fine, coarse);
  make_products(fine);
  find_restriction(fine, coarse);
  find_coarse_matrix(fine, coarse);
  make_coarse(fine);
  by_all([&] { scratch_->reuse(); });
  return true;
}

/// Divides the unknowns into aggregates; returns their numbers.
template <class C>
local_numbers levels_of_group<C>::divide(level_of_group<C>& fine) {
  const index_type n = fine.A.rows, ghosts = fine.named.with_ghosts() - n;
  const int lanes = fine.A.lanes(4);
  C* largest = nullptr;
  std::int8_t* has_strong = nullptr;
  const auto strong_by = [&](std::uint8_t* strong) {
    return mark_strong<C>{fine.matrix(), largest, options_.strength, strong, has_strong, lanes};
  };
  by_all([&] {
    fine.A.longest = longest_of(fine.A);
    largest = scratch_->take<C>(n + ghosts).data();
    has_strong = scratch_->take<std::int8_t>(n).data();
    std::uint8_t* const within = scratch_->take<std::uint8_t>(fine.A.nonzeros).data();
    std::int32_t* const numbers = scratch_->take<std::int32_t>(n + 1).data();
    fine.strong = kept_.take<std::uint8_t>(fine.A.nonzeros).data();
    fine.aggregate = kept_.take<std::int32_t>(n + ghosts).data();
    run([&](recorder& steps) {
      steps.step("the largest neighbour", n, largest_beside_diagonal<C>{fine.matrix(), largest, lanes});
      steps.step("ghosts are not strong", ghosts, fill_entries<C>{static_cast<C>(HUGE_VAL), largest + n});
      steps.step("strong entries within", n, strong_by(within));
      record_aggregation(steps, strong_graph<C>{fine.matrix(), within}, has_strong, fine.aggregate, numbers, *scratch_);
    });
    fine.coarse_rows = told(numbers + n);
  });
  const auto of_ghosts = fine.of_vector.exchange(making, static_cast<const C*>(largest));
  by_all([&] {
    copies_.put(largest + n, of_ghosts.all);
    run([&](recorder& steps) { steps.step("strong entries", n, strong_by(fine.strong)); });
  });
  return join_across(fine);
}

/// Unknowns whose strong neighbours are all on other ranks: they join the aggregate of the strongest that is in one.
/// Where none is, those that come first by chance begin one. Few, along the borders: on the host.
template <class C>
local_numbers levels_of_group<C>::join_across(level_of_group<C>& fine) {
  const index_type n = fine.A.rows;
  const int self = ranks_.ranks().rank();
  struct neighbour {
    std::int32_t ghost;
    C size;
  };
  struct unknown {
    std::int32_t row;
    std::vector<neighbour> neighbours;
    aggregate_of_rank joins;
  };
  std::vector<unknown> left;
  std::vector<std::int32_t> place(at(n), -1);  // among them
  by_all([&] {
    std::uint8_t* const flags = scratch_->take<std::uint8_t>(n).data();
    run([&](recorder& steps) {
      steps.step("who is left", n, is_left{fine.A, fine.strong, fine.aggregate, static_cast<std::int32_t>(n), flags});
    });
    const std::vector<std::uint8_t> is = copies_.fetched(flags, n);
    std::vector<std::int32_t> rows, entries, owners;
    for (std::size_t i = 0; i < is.size(); ++i) {
      if (!is[i]) continue;
      place[i] = static_cast<std::int32_t>(rows.size());
      rows.push_back(static_cast<std::int32_t>(i));
      left.push_back({rows.back(), {}, {}});
    }
    std::vector<neighbour> named;
    for_rows(copies_, fine.A, rows, [&](std::size_t k, std::int32_t e, std::int32_t j) {
      entries.push_back(e);
      owners.push_back(static_cast<std::int32_t>(k));
      named.push_back({static_cast<std::int32_t>(j - n), 0});
    });
    const buffer<std::int32_t> listed(where_, static_cast<index_type>(entries.size()), entries.data());
    const auto strong = copies_.fetched(static_cast<const std::uint8_t*>(fine.strong), listed);
    const auto values = copies_.fetched(static_cast<const C*>(fine.A_values), listed);
    for (std::size_t k = 0; k < entries.size(); ++k) {
      if (!strong[k] || named[k].ghost < 0) continue;
      named[k].size = std::fabs(values[k]);
      left[at(owners[k])].neighbours.push_back(named[k]);
    }
  });
  // The rows that this rank sends, in order.
  std::vector<std::int32_t> sent;
  for (const auto& some : fine.of_vector.lists()) sent.insert(sent.end(), some.begin(), some.end());
  const auto of_ghosts = [&] {
    return fine.of_vector
        .exchange(making, static_cast<const std::int32_t*>(fine.aggregate),
                  [&](std::size_t k, std::int32_t a) {
                    if (a >= 0) return aggregate_of_rank{self, a};
                    const std::int32_t at_left = place[at(sent[k])];
                    return at_left < 0 ? aggregate_of_rank{} : left[at(at_left)].joins;
                  })
        .all;
  };
  const auto priority = [&](index_type global) { return chance(static_cast<std::uint32_t>(global)); };
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<aggregate_of_rank> found = of_ghosts();
    for (unknown& one : left) {
      if (one.joins.number >= 0) continue;
      const index_type self_global = fine.named.global(one.row);
      C most = 0;
      bool is_first = true;
      for (const neighbour& other : one.neighbours) {
        const aggregate_of_rank& its = found[at(other.ghost)];
        const index_type global = fine.named.ghosts[at(other.ghost)];
        if (its.number >= 0 && other.size > most) {
          most = other.size;
          one.joins = its;
        }
        if (its.number < 0)
          is_first &= std::pair(priority(self_global), self_global) > std::pair(priority(global), global);
      }
      if (one.joins.number < 0 && is_first) one.joins = {self, static_cast<std::int32_t>(fine.coarse_rows++)};
    }
  }
  const std::vector<aggregate_of_rank> found = of_ghosts();
  const auto counts = ranks_.ranks().all_gather<index_type>(making, [&] { return std::vector{fine.coarse_rows}; });
  std::vector<index_type> first{0};
  for (const index_type count : counts.all) first.push_back(first.back() + count);
  local_numbers coarse{row_partition(first), self, {}};
  by_all([&] {
    const auto global = [&](const aggregate_of_rank& one) {
      return one.number < 0 ? index_type{-1} : coarse.partition.first(one.rank) + one.number;
    };
    std::vector<index_type> names;
    for (const aggregate_of_rank& one : found) names.push_back(global(one));
    for (const unknown& one : left) names.push_back(global(one.joins));
    coarse.name(names);
    std::vector<std::int32_t> rows, joined, of_others;
    const auto local = [&](index_type one) { return one < 0 ? -1 : coarse.local(one); };
    for (const aggregate_of_rank& one : found) of_others.push_back(local(global(one)));
    for (const unknown& one : left) {
      rows.push_back(one.row);
      joined.push_back(local(global(one.joins)));
    }
    const auto count = static_cast<index_type>(rows.size());
    const buffer<std::int32_t> which(where_, count, rows.data()), values(where_, count, joined.data());
    run([&](recorder& steps) {
      steps.step("who joined", count, put_entries<std::int32_t>{which.data(), values.data(), fine.aggregate});
    });
    copies_.put(fine.aggregate + n, of_others);
  });
  return coarse;
}

/// The patterns of P, with the rows of ghosts, and of A P.
template <class C>
void levels_of_group<C>::find_prolongation(level_of_group<C>& fine, local_numbers& coarse) {
  const index_type n = fine.A.rows;
  const int lanes = fine.A.lanes(4);
  pattern_view own;
  entries_to_send to_send(ranks_.ranks().size());
  by_all([&] {
    const columns_of_prolongation<C> of_P{fine.graph(), fine.aggregate};
    run([&](recorder& steps) { own = record_offsets_of(steps, n, lanes, of_P, *scratch_, *scratch_); });
    const std::int32_t nonzeros = told(own.offsets + n);
    run([&](recorder& steps) {
      record_columns_of(steps, own, coarse.with_ghosts(), nonzeros, lanes, of_P, *scratch_);
    });
  });
  // Whoever gets an entry of a vector gets that row.
  const auto rows_for = fine.of_vector.lists();
  by_all([&] {
    for (std::size_t q = 0; q < rows_for.size(); ++q)
      for_rows(copies_, own, rows_for[q], [&](std::size_t k, std::int32_t e, std::int32_t) {
        to_send.add(static_cast<int>(q), e, fine.named.global(rows_for[q][k]));
      });
  });
  const std::vector<index_type> row_of = to_send.all_rows();
  fine.of_P.exchange = exchanged_entries(making, ranks_.ranks(), where_, to_send.for_rank);
  const auto found = fine.of_P.exchange.exchange(making, own.indices, [&](std::size_t k, std::int32_t g) {
    return entry_named{row_of[k], coarse.global(g)};
  });
  by_all([&] {
    std::vector<index_type> names, rows;
    std::vector<std::int32_t> columns;
    for (const entry_named& one : found.all) names.push_back(one.column);
    const auto now = coarse.name(names);
    renumber(own.indices, own.nonzeros, coarse.own(), now);
    renumber(fine.aggregate, fine.named.with_ghosts(), coarse.own(), now);
    for (const entry_named& one : found.all) {
      rows.push_back(fine.named.local(one.row) - n);
      columns.push_back(coarse.local(one.column));
    }
    own.columns = coarse.with_ghosts();
    fine.P = with_received(own, fine.named.with_ghosts() - n, rows, columns, fine.of_P);
    fine.P_values = kept_.take<C>(fine.P.nonzeros).data();
    const columns_of_product of_AP{fine.A, fine.P, /*skips_long_rows=*/true};
    run([&](recorder& steps) {
      fine.R = record_transpose(steps, rows_of(fine.P, n, own.nonzeros), kept_, *scratch_);
      fine.AP = record_offsets_of_product(steps, of_AP, kept_, *scratch_);
    });
    const std::int32_t nonzeros = told(fine.AP.offsets + n);
    run([&](recorder& steps) {
      record_columns_of(steps, fine.AP, coarse.with_ghosts(), nonzeros, lanes_of_product(fine.A), of_AP, kept_);
    });
    fine.R.view.longest = longest_of(fine.R.view);
    fine.AP_values = kept_.take<C>(fine.AP.nonzeros).data();
  });
}

/// The patterns of Q, of which small entries are dropped, and of its transpose.
template <class C>
void levels_of_group<C>::find_restriction(level_of_group<C>& fine, const local_numbers& coarse) {
  const index_type n = fine.A.rows;
  entries_to_send to_send(ranks_.ranks().size());
  by_all([&] {
    const entries_of_Q<C> all = fine.all_of_Q();
    const int lanes = fine.AP.lanes(4);
    run([&](recorder& steps) {
      const auto record_counts = [&](std::int32_t* counts) {
        steps.step("count a row of Q", n, count_kept_of_Q<C>{all, counts, lanes});
      };
      fine.Q = record_offsets_by(steps, n, record_counts, *scratch_, *scratch_);
    });
    const std::int32_t nonzeros = told(fine.Q.offsets + n);
    std::int32_t* const indices = take_columns_of(fine.Q, coarse.with_ghosts(), nonzeros, *scratch_);
    std::uint8_t* const names = scratch_->take<std::uint8_t>(n).data();
    run([&](recorder& steps) {
      steps.step("columns of Q", n, put_kept_of_Q<C>{all, fine.Q.offsets, indices, lanes});
      steps.step("rows with ghosts", n, names_ghost{fine.Q, static_cast<std::int32_t>(coarse.own()), names});
    });
    const std::vector<std::uint8_t> along = copies_.fetched(names, n);
    std::vector<std::int32_t> rows;
    for (std::size_t i = 0; i < along.size(); ++i)
      if (along[i]) rows.push_back(static_cast<std::int32_t>(i));
    for_rows(copies_, fine.Q, rows, [&](std::size_t k, std::int32_t e, std::int32_t g) {
      if (g >= coarse.own()) to_send.add(coarse.owner(coarse.global(g)), e, fine.named.global(rows[k]));
    });
  });
  const std::vector<index_type> row_of = to_send.all_rows();
  fine.of_Q.exchange = exchanged_entries(making, ranks_.ranks(), where_, to_send.for_rank);
  const auto found = fine.of_Q.exchange.exchange(making, fine.Q.indices, [&](std::size_t k, std::int32_t g) {
    return entry_named{row_of[k], coarse.global(g)};
  });
  local_numbers of_cycle = fine.named;
  by_all([&] {
    std::vector<index_type> names, rows;
    std::vector<std::int32_t> columns;
    for (const entry_named& one : found.all) names.push_back(one.row);
    of_cycle.name(names);
    fine.ghosts = of_cycle.ghosts;
    for (const entry_named& one : found.all) {
      rows.push_back(of_cycle.local(one.row) - n);
      columns.push_back(coarse.local(one.column));
    }
    const index_type own = fine.Q.nonzeros;
    pattern_view all = with_received(fine.Q, of_cycle.with_ghosts() - n, rows, columns, fine.of_Q);
    run([&](recorder& steps) { fine.W = record_transpose(steps, all, kept_, *scratch_); });
    fine.W.view.rows = coarse.own();
    fine.W.view.nonzeros = told(fine.W.view.offsets + coarse.own());
    fine.Q_values = kept_.take<C>(all.nonzeros).data();
    fine.W_values = kept_.take<C>(fine.W.view.nonzeros).data();
    fine.up_values = kept_.take<C>(fine.A.nonzeros + own).data();
    fine.Q = rows_of(all, n, own);
  });
}

/// The pattern of the coarser level's matrix.
template <class C>
void levels_of_group<C>::find_coarse_matrix(level_of_group<C>& fine, local_numbers& coarse) {
  const index_type own = coarse.own(), with_ghosts = fine.R.view.rows;
  pattern_view shares;
  entries_to_send to_send(ranks_.ranks().size());
  by_all([&] {
    const columns_of_product source{fine.R.view, fine.AP};
    run([&](recorder& steps) { shares = record_offsets_of_product(steps, source, *scratch_, *scratch_); });
    const std::int32_t nonzeros = told(shares.offsets + with_ghosts);
    run([&](recorder& steps) {
      record_columns_of(steps, shares, coarse.with_ghosts(), nonzeros, lanes_of_product(fine.R.view), source,
                        *scratch_);
    });
    std::vector<std::int32_t> rows;
    for (index_type g = own; g < with_ghosts; ++g) rows.push_back(static_cast<std::int32_t>(g));
    for_rows(copies_, shares, rows, [&](std::size_t k, std::int32_t e, std::int32_t) {
      const index_type row = coarse.global(rows[k]);
      to_send.add(coarse.owner(row), e, row);
    });
  });
  const std::vector<index_type> row_of = to_send.all_rows();
  fine.of_shares.exchange = exchanged_entries(making, ranks_.ranks(), where_, to_send.for_rank);
  const auto found = fine.of_shares.exchange.exchange(making, shares.indices, [&](std::size_t k, std::int32_t g) {
    return entry_named{row_of[k], coarse.global(g)};
  });
  by_all([&] {
    std::vector<index_type> names, rows;
    std::vector<std::int32_t> columns, row_of_share;
    for (const entry_named& one : found.all) names.push_back(one.column);
    const auto now = coarse.name(names);
    renumber(shares.indices, shares.nonzeros, own, now);
    renumber(fine.P.indices, fine.P.nonzeros, own, now);
    renumber(fine.aggregate, fine.named.with_ghosts(), own, now);
    renumber(fine.AP.indices, fine.AP.nonzeros, own, now);
    renumber(fine.Q.indices, fine.Q.nonzeros, own, now);
    for (pattern_view* const one : {&shares, &fine.P, &fine.AP, &fine.Q}) one->columns = coarse.with_ghosts();
    for (std::size_t q = 0; q + 1 < found.first.size(); ++q) {
      for (std::size_t k = found.first[q]; k < found.first[q + 1]; ++k) {
        if (k == found.first[q] || found.all[k].row != found.all[k - 1].row)
          row_of_share.push_back(coarse.local(found.all[k].row));
        rows.push_back(static_cast<index_type>(row_of_share.size()) - 1);
        columns.push_back(coarse.local(found.all[k].column));
      }
    }
    const auto more = static_cast<index_type>(row_of_share.size());
    fine.shares = with_received(shares, more, rows, columns, fine.of_shares);
    fine.shares_values = kept_.take<C>(fine.shares.nonzeros).data();
    // E: own rows, and what others have of them.
    std::vector<std::vector<std::int32_t>> shares_of(at(own));
    std::vector<std::int32_t> offsets{0}, indices;
    for (std::size_t t = 0; t < row_of_share.size(); ++t)
      shares_of[at(row_of_share[t])].push_back(static_cast<std::int32_t>(with_ghosts + static_cast<index_type>(t)));
    for (index_type g = 0; g < own; ++g) {
      indices.push_back(static_cast<std::int32_t>(g));
      indices.insert(indices.end(), shares_of[at(g)].begin(), shares_of[at(g)].end());
      offsets.push_back(static_cast<std::int32_t>(indices.size()));
    }
    const auto nonzeros_of_E = static_cast<index_type>(indices.size());
    std::int32_t *const kept_offsets = kept_.take<std::int32_t>(own + 1).data(),
                        *const kept_indices = kept_.take<std::int32_t>(nonzeros_of_E).data();
    copies_.put(kept_offsets, offsets);
    copies_.put(kept_indices, indices);
    fine.E = {own, fine.shares.rows, nonzeros_of_E, kept_offsets, kept_indices};
    fine.ones = kept_.take<C>(nonzeros_of_E).data();
    const columns_of_product source{fine.E, fine.shares};
    run([&](recorder& steps) {
      steps.step("ones", nonzeros_of_E, fill_entries<C>{C(1), fine.ones});
      fine.coarse = record_offsets_of_product(steps, source, kept_, *scratch_);
    });
    const std::int32_t nonzeros = told(fine.coarse.offsets + own);
    run([&](recorder& steps) {
      record_columns_of(steps, fine.coarse, coarse.with_ghosts(), nonzeros, lanes_of_product(fine.E), source, kept_);
    });
    fine.coarse_values = kept_.take<C>(nonzeros).data();
  });
}

/// The last level, if it is not gathered.
template <class C>
void levels_of_group<C>::smooth_alone(level_of_group<C>& last) {
  by_all([&] {
    const index_type n = last.A.rows;
    std::int32_t* const offsets = kept_.take<std::int32_t>(n + 1).data();
    run([&](recorder& steps) { steps.step("no coarser level", n + 1, fill_entries<std::int32_t>{0, offsets}); });
    last.coarse_rows = 0;
    last.P = last.AP = last.Q = {n, 0, 0, offsets, nullptr};
    last.W.view = {0, n, 0, offsets, nullptr};
    last.up_values = kept_.take<C>(last.A.nonzeros).data();
    last.ghosts = last.named.ghosts;
    scratch_->reuse();
  });
  make_products(last);
  make_coarse(last);
}

/// M, P and A P.
template <class C>
void levels_of_group<C>::make_products(level_of_group<C>& here) {
  const index_type n = here.A.rows;
  const int lanes = here.A.lanes(8);
  by_all([&] {
    if (!here.M) here.M = kept_.take<C>(here.named.with_ghosts()).data();
    run([&](recorder& steps) {
      steps.step("M", n, smoother_values<C>{here.matrix(), here.M, lanes});
      if (here.is_finest)
        steps.step("rows of zeros", n, unit_for_zero_rows<C>{node_matrix<C>{here.A, here.A_values, 1, 1}, here.M});
      if (here.has_coarser)
        steps.step("P", n,
                   prolongation_values<C>{
                       {here.graph(), here.aggregate}, here.P, here.P_values, smoothing_across_ranks, lanes});
    });
  });
  const auto M_of_ghosts = here.of_vector.exchange(making, static_cast<const C*>(here.M));
  by_all([&] { copies_.put(here.M + n, M_of_ghosts.all); });
  if (!here.has_coarser) return;
  const auto P_of_ghosts = here.of_P.exchange.exchange(making, static_cast<const C*>(here.P_values));
  by_all([&] {
    copies_.put(here.P_values + here.of_P.begin, here.of_P.in_order(P_of_ghosts.all));
    run([&](recorder& steps) {
      record_product_values(steps, "A P", here.matrix(), nullptr, matrix_view<C>{here.P, here.P_values}, here.AP,
                            here.AP_values, nullptr, /*skips_long_rows=*/true);
    });
  });
}

/// The cycle's matrices, and the coarser level's.
template <class C>
void levels_of_group<C>::make_coarse(level_of_group<C>& here) {
  const index_type n = here.A.rows;
  by_all([&] {
    run([&](recorder& steps) {
      steps.step(
          "[S | Q]", n,
          way_up_values<C>{here.matrix(), {here.all_of_Q(), here.Q}, here.up_values, here.Q_values, here.A.lanes(2)});
      if (here.has_coarser)
        record_product_values(steps, "P'A P", matrix_view<C>{here.R.view, here.P_values}, here.R.sources,
                              matrix_view<C>{here.AP, here.AP_values},
                              rows_of(here.shares, here.R.view.rows, here.of_shares.begin), here.shares_values, nullptr,
                              /*skips_long_rows=*/false);
    });
  });
  if (!here.has_coarser) return;
  const auto of_Q = here.of_Q.exchange.exchange(making, static_cast<const C*>(here.Q_values));
  const auto of_shares = here.of_shares.exchange.exchange(making, static_cast<const C*>(here.shares_values));
  by_all([&] {
    copies_.put(here.Q_values + here.of_Q.begin, here.of_Q.in_order(of_Q.all));
    copies_.put(here.shares_values + here.of_shares.begin, here.of_shares.in_order(of_shares.all));
    run([&](recorder& steps) {
      steps.step("W", here.W.view.nonzeros, gather_values<C>{here.W.sources, here.Q_values, here.W_values});
      record_product_values(steps, "shares of all ranks", matrix_view<C>{here.E, here.ones}, nullptr,
                            matrix_view<C>{here.shares, here.shares_values}, here.coarse, here.coarse_values, nullptr,
                            /*skips_long_rows=*/false);
    });
  });
}

/// What a cycle needs, once the coarser level is known.
template <class C>
void levels_of_group<C>::take_cycle(level_of_group<C>& fine, const local_numbers& coarse,
                                    const std::vector<index_type>& coarse_ghosts) {
  const index_type n = fine.A.rows;
  fine.cycle_halo.emplace(ranks_, make_halo_plan(ranks_.ranks(), fine.named.partition, fine.ghosts));
  by_all([&] {
    const auto numbers_among = [&](const std::vector<index_type>& some, const std::vector<index_type>& all,
                                   index_type from) {
      std::vector<std::int32_t> numbers;
      for (const index_type one : some)
        numbers.push_back(
            static_cast<std::int32_t>(from + (std::lower_bound(all.begin(), all.end(), one) - all.begin())));
      return buffer<std::int32_t>(where_, static_cast<index_type>(numbers.size()), numbers.data());
    };
    const index_type nonzeros = fine.A.nonzeros + fine.Q.nonzeros,
                     below = fine.coarse_rows + static_cast<index_type>(coarse_ghosts.size());
    require_32_bits(nonzeros);
    const auto ghosts = numbers_among(fine.named.ghosts, fine.ghosts, n);
    const auto of_coarse = numbers_among(coarse.ghosts, coarse_ghosts, fine.coarse_rows);
    std::int32_t *const offsets = kept_.take<std::int32_t>(n + 1).data(),
                        *const indices =
                            (where_.on_host() ? kept_ : *scratch_).template take<std::int32_t>(nonzeros).data();
    run([&](recorder& steps) {
      steps.step("columns of [S | Q]", n,
                 put_way_up_of_group{fine.A, fine.Q, offsets, indices, static_cast<std::int32_t>(n),
                                     static_cast<std::int32_t>(fine.with_ghosts()),
                                     static_cast<std::int32_t>(fine.coarse_rows), ghosts.data(), of_coarse.data(),
                                     fine.A.lanes(2)});
      if (n == 0) steps.step("no rows", 1, fill_entries<std::int32_t>{0, offsets});
      fine.up = interleaved(steps, {n, fine.with_ghosts() + below, nonzeros, offsets, indices}, fine.up_values);
      fine.down = interleaved(steps, fine.W.view, fine.W_values);
      put_in_order(steps, fine);
    });
    fine.x = buffer<C>(where_, fine.with_ghosts() + below);
    scratch_->reuse();
  });
}

template <class C>
interleaved_rows<C> levels_of_group<C>::interleaved(recorder& run, const pattern_view& pattern, const C* values) {
  interleaved_rows<C> matrix{pattern, values};
  while (1 << matrix.log_lanes < pattern.lanes(24)) ++matrix.log_lanes;
  if (where_.on_host()) return matrix;
  matrix.columns = kept_.take<std::int32_t>(pattern.nonzeros).data();
  if (options_.precision == "bfloat16") {
    matrix.upper_halves = kept_.take<std::uint16_t>(pattern.nonzeros).data();
  } else {
    matrix.values = kept_.take<C>(pattern.nonzeros).data();
  }
  matrix.record_columns(run);
  return matrix;
}
template <class C>
void levels_of_group<C>::put_in_order(recorder& run, const level_of_group<C>& here) const {
  if (where_.on_host()) return;
  here.up.record_values(run);
  here.down.record_values(run);
}

template <class C>
void levels_of_group<C>::gather(const level_of_group<C>& level) {
  const group& all = ranks_.ranks();
  const local_numbers& named = level.named;
  const index_type n = level.A.rows, rows = named.partition.rows();
  std::vector<std::int32_t> order, columns;
  const auto lengths = all.all_gather<std::int32_t>(making, [&] {
    const auto offsets = copies_.fetched(level.A.offsets, n > 0 ? n + 1 : 0);
    const auto indices = copies_.fetched(level.A.indices, level.A.nonzeros);
    std::vector<std::int32_t> made;
    for (index_type i = 0; i < n; ++i) {
      const std::int32_t begin = offsets[at(i)], end = offsets[at(i) + 1];
      made.push_back(end - begin);
      for (std::int32_t e = begin; e < end; ++e) order.push_back(e);
      std::stable_sort(order.end() - (end - begin), order.end(), [&](std::int32_t one, std::int32_t other) {
        return named.global(indices[at(one)]) < named.global(indices[at(other)]);
      });
    }
    for (const std::int32_t e : order) columns.push_back(static_cast<std::int32_t>(named.global(indices[at(e)])));
    return made;
  });
  const auto all_columns = all.all_gather<std::int32_t>(making, [&] { return columns; });
  all.agree(making, [&] {
    std::vector<std::int32_t> offsets{0}, unknowns;
    for (const std::int32_t length : lengths.all) offsets.push_back(offsets.back() + length);
    for (index_type j = 0; j < named.with_ghosts(); ++j)
      unknowns.push_back(static_cast<std::int32_t>(named.global(static_cast<std::int32_t>(j))));
    const auto copied = [&](const std::vector<std::int32_t>& from) {
      return buffer<std::int32_t>(where_, static_cast<index_type>(from.size()), from.data());
    };
    gathered_.offsets = copied(offsets);
    gathered_.indices = copied(all_columns.all);
    gathered_.order = copied(order);
    gathered_.named = copied(unknowns);
    gathered_.numbers = named;
    gathered_.values = buffer<C>(where_, gathered_.indices.size());
    gathered_.own_values = level.A_values;
    gathered_.residual = buffer<C>(where_, n);
    gathered_.answer = buffer<C>(where_, rows);
  });
  std::vector<index_type> others;
  for (index_type j = 0; j < rows; ++j)
    if (!named.partition.has(all.rank(), j)) others.push_back(j);
  gathered_.of_all.emplace(ranks_, make_halo_plan(all, named.partition, std::move(others)));
  take_gathered_values();
  all.agree(making, [&] {
    amg_options below = options_;
    below.most_levels -= static_cast<int>(levels_.size());
    gathered_.levels = std::make_unique<hierarchy<C>>(
        where_, pattern_view{rows, rows, gathered_.indices.size(), gathered_.offsets.data(), gathered_.indices.data()},
        /*symmetric=*/true, static_cast<double>(std::numeric_limits<C>::epsilon()), below,
        [&](recorder& steps, auto* to) { copy_gathered(steps, to); });
    workspace measured;
    gathered_.vectors.take_memory(*gathered_.levels, false, measured);
    gathered_.memory = raw_buffer(where_, at(std::max<index_type>(measured.used(), 1)));
    workspace memory(gathered_.memory.data());
    gathered_.vectors.take_memory(*gathered_.levels, false, memory);
    scratch_->reuse();
  });
}
template <class C>
void levels_of_group<C>::take_gathered_values() {
  const auto values = ranks_.ranks().template all_gather<C>(
      making, [&] { return copies_.fetched(gathered_.own_values, gathered_.order); });
  by_all([&] {
    if (!values.all.empty()) gathered_.values.upload(values.all.data());
  });
}

template <class C>
void levels_of_group<C>::update_values() {
  for (level_of_group<C>& one : levels_) {
    make_products(one);
    make_coarse(one);
    by_all([&] { run([&](recorder& steps) { put_in_order(steps, one); }); });
  }
  if (!gathered()) return;
  take_gathered_values();
  by_all([&] {
    run([&](recorder& steps) {
      gathered_.levels->with_given_values([&](auto* to) { copy_gathered(steps, to); });
      gathered_.levels->record_values(steps);
    });
  });
}

template <class C>
void levels_of_group<C>::recover() {
  for (level_of_group<C>& one : levels_) one.cycle_halo->recover();
  if (gathered()) gathered_.of_all->recover();
}

template <class C>
std::string levels_of_group<C>::description() const {
  std::string words;
  for (const level_of_group<C>& one : levels_)
    words += (words.empty() ? "" : ", ") + std::to_string(one.named.partition.rows());
  if (!words.empty()) words = "levels of " + words + " rows across ranks";
  if (!gathered()) return words;
  return words + (words.empty() ? "" : ", then ") + "on each rank " + gathered_.levels->description();
}

template <class C>
pattern_view levels_of_group<C>::with_received(const pattern_view& own, index_type more_rows,
                                               const std::vector<index_type>& rows,
                                               const std::vector<std::int32_t>& columns, entries_of_others& received) {
  const auto count = static_cast<index_type>(rows.size());
  require_32_bits(own.nonzeros + count);
  received.begin = own.nonzeros;
  received.order.resize(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) received.order[k] = k;
  std::stable_sort(received.order.begin(), received.order.end(), [&](std::size_t one, std::size_t other) {
    return rows[one] != rows[other] ? rows[one] < rows[other] : columns[one] < columns[other];
  });
  std::vector<std::int32_t> ends(at(more_rows));
  for (const index_type row : rows) ++ends[at(row)];
  std::int32_t end = static_cast<std::int32_t>(own.nonzeros);
  for (std::int32_t& one : ends) one = end += one;
  std::int32_t *const offsets = kept_.take<std::int32_t>(own.rows + more_rows + 1).data(),
                      *const indices = kept_.take<std::int32_t>(own.nonzeros + count).data();
  run([&](recorder& steps) {
    steps.step("own rows", own.rows + 1, copy_entries<std::int32_t>{own.offsets, offsets});
    steps.step("own columns", own.nonzeros, copy_entries<std::int32_t>{own.indices, indices});
  });
  copies_.put(offsets + own.rows + 1, ends);
  copies_.put(indices + own.nonzeros, received.in_order(columns));
  return {own.rows + more_rows, own.columns, own.nonzeros + count, offsets, indices};
}

template <class C>
void levels_of_group<C>::renumber(const std::int32_t* indices, index_type count, index_type own,
                                  const std::vector<std::int32_t>& now) {
  if (now.empty()) return;
  const buffer<std::int32_t> table(where_, static_cast<index_type>(now.size()), now.data());
  run([&](recorder& steps) {
    steps.step("other numbers for ghosts", count,
               renumber_ghosts{const_cast<std::int32_t*>(indices), static_cast<std::int32_t>(own), table.data()});
  });
}

template <class C>
std::int32_t levels_of_group<C>::longest_of(const pattern_view& pattern) {
  std::int32_t* const found = scratch_->take<std::int32_t>(1).data();
  run([&](recorder& steps) { record_longest(steps, pattern, found); });
  return told(found);
}

template class levels_of_group<WHILST_NUMBER>;

}  // namespace whilst::multigrid
