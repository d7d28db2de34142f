#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "solvers/linear/distributed/multigrid/border_entries.hpp"
#include "solvers/linear/distributed/multigrid/levels_of_group.hpp"
#include "solvers/linear/multigrid/aggregation.hpp"
#include "solvers/linear/multigrid/chance.hpp"

/// How levels_of_group divides unknowns into aggregates. For levels_of_group.cpp, which instantiates it.

namespace whilst::multigrid {

/// Whether a row is in no aggregate, though ghosts are strong.
struct is_left {
  pattern_view A;
  const std::uint8_t* strong;
  const std::int32_t* aggregate;
  std::int32_t own;
  std::uint8_t* is;
  WHILST_HD void operator()(index_type i) const {
    bool has_strong = false;
    for (std::int32_t e = A.offsets[i]; e < A.offsets[i + 1]; ++e)
      has_strong |= (strong[e] & for_aggregates) && A.indices[e] >= own;
    is[i] = aggregate[i] < 0 && has_strong;
  }
};
/// An aggregate, by the rank that has it and its number there; -1 for none.
struct aggregate_of_rank {
  std::int32_t rank = 0, number = -1;
};

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
  fine.of_vector.exchange_to(making, static_cast<const C*>(largest), largest + n, {});
  by_all([&] { run([&](recorder& steps) { steps.step("strong entries", n, strong_by(fine.strong)); }); });
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
  by_all([&] {
    std::uint8_t* const flags = scratch_->take<std::uint8_t>(n).data();
    run([&](recorder& steps) {
      steps.step("who is left", n, is_left{fine.A, fine.strong, fine.aggregate, static_cast<std::int32_t>(n), flags});
    });
    const std::vector<std::int32_t> rows = rows_flagged(copies_.fetched(flags, n));
    for (const std::int32_t row : rows) left.push_back({row, {}, {}});
    std::vector<std::int32_t> entries, owners;
    std::vector<neighbour> named;
    for_rows(copies_, fine.A, rows, 0, [&](std::size_t k, std::int32_t e, std::int32_t j) {
      entries.push_back(e);
      owners.push_back(static_cast<std::int32_t>(k));
      named.push_back({static_cast<std::int32_t>(j - n), 0});
    });
    const buffer<std::int32_t> listed(where_, static_cast<index_type>(entries.size()), entries.data());
    const auto strong = copies_.fetched(static_cast<const std::uint8_t*>(fine.strong), listed);
    const auto values = copies_.fetched(static_cast<const C*>(fine.A_values), listed);
    for (std::size_t k = 0; k < entries.size(); ++k) {
      if (!(strong[k] & for_aggregates) || named[k].ghost < 0) continue;
      named[k].size = std::fabs(values[k]);
      left[as_size(owners[k])].neighbours.push_back(named[k]);
    }
  });
  // The rows that this rank sends, in order.
  const std::vector<std::int32_t> sent = joined(fine.of_vector.lists());
  const auto of_ghosts = [&] {
    return fine.of_vector
        .exchange(making, static_cast<const std::int32_t*>(fine.aggregate),
                  [&](std::size_t k, std::int32_t a) {
                    if (a >= 0) return aggregate_of_rank{self, a};
                    const auto at =
                        std::lower_bound(left.begin(), left.end(), sent[k],
                                         [](const unknown& one, std::int32_t row) { return one.row < row; });
                    return at == left.end() || at->row != sent[k] ? aggregate_of_rank{} : at->joins;
                  })
        .all;
  };
  const auto priority = [&](index_type global) { return chance(static_cast<std::uint32_t>(global)); };
  const auto left_of_ranks =
      ranks_.ranks().all_gather<index_type>(making, [&] { return std::vector{static_cast<index_type>(left.size())}; });
  const bool is_any_left =
      std::any_of(left_of_ranks.all.begin(), left_of_ranks.all.end(), [](auto some) { return some > 0; });
  const int rounds = is_any_left ? 3 : 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<aggregate_of_rank> found = of_ghosts();
    for (unknown& one : left) {
      if (one.joins.number >= 0) continue;
      const index_type self_global = fine.named.global(one.row);
      C most = 0;
      bool is_first = true;
      for (const neighbour& other : one.neighbours) {
        const aggregate_of_rank& its = found[as_size(other.ghost)];
        const index_type global = fine.named.ghosts[as_size(other.ghost)];
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
    coarse.name(std::move(names));
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

}  // namespace whilst::multigrid
