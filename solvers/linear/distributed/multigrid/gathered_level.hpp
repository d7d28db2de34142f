#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "solvers/linear/distributed/multigrid/border_entries.hpp"
#include "solvers/linear/distributed/multigrid/levels_of_group.hpp"

/// The level that levels_of_group gathers. For levels_of_group.cpp, which instantiates it.

namespace whilst::multigrid {
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
    std::vector<std::pair<std::int32_t, std::int32_t>> row;  // columns, and which entries they are of
    made.reserve(as_size(n));
    order.reserve(indices.size());
    columns.reserve(indices.size());
    for (index_type i = 0; i < n; ++i) {
      const std::int32_t begin = offsets[as_size(i)], end = offsets[as_size(i) + 1];
      made.push_back(end - begin);
      row.clear();
      for (std::int32_t e = begin; e < end; ++e)
        row.emplace_back(static_cast<std::int32_t>(named.global(indices[as_size(e)])), e);
      std::sort(row.begin(), row.end());
      for (const auto& [column, e] : row) {
        columns.push_back(column);
        order.push_back(e);
      }
    }
    return made;
  });
  const auto all_columns = all.all_gather<std::int32_t>(making, [&] { return columns; });
  all.agree(making, [&] {
    require_32_bits(static_cast<index_type>(all_columns.all.size()));
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
    below.coarsening = "aggregation";
    below.most_levels -= static_cast<int>(levels_.size());
    gathered_.levels = std::make_unique<hierarchy<C>>(
        where_, pattern_view{rows, rows, gathered_.indices.size(), gathered_.offsets.data(), gathered_.indices.data()},
        /*symmetric=*/true, static_cast<double>(std::numeric_limits<C>::epsilon()), below,
        [&](recorder& steps, auto* to) { copy_gathered(steps, to); });
    workspace measured;
    gathered_.vectors.take_memory(*gathered_.levels, false, measured);
    gathered_.memory = raw_buffer(where_, as_size(std::max<index_type>(measured.used(), 1)));
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

}  // namespace whilst::multigrid
