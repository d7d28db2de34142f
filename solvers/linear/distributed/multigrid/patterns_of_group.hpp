#pragma once

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "solvers/linear/distributed/multigrid/border_entries.hpp"
#include "solvers/linear/distributed/multigrid/levels_of_group.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"

/// The patterns of levels_of_group's matrices. For levels_of_group.cpp, which instantiates it.

namespace whilst::multigrid {
/// The patterns of P, with the rows of ghosts, and of A P.
template <class C>
void levels_of_group<C>::find_prolongation(level_of_group<C>& fine, local_numbers& coarse) {
  const index_type n = fine.A.rows;
  const int lanes = fine.A.lanes(4);
  pattern_view own;
  rows_to_send to_send(ranks_.ranks().size());
  by_all([&] {
    const columns_of_prolongation<C> of_P{fine.graph(), fine.aggregate};
    run([&](recorder& steps) { own = record_offsets_of(steps, n, lanes, of_P, *scratch_, *scratch_); });
    const std::int32_t nonzeros = told(own.offsets + n);
    run([&](recorder& steps) {
      record_columns_of(steps, own, coarse.with_ghosts(), nonzeros, lanes, of_P, *scratch_);
    });
  });
  // Whoever gets an entry of a vector gets that row.
  const auto& rows_for = fine.of_vector.lists();
  by_all([&] {
    for (std::size_t q = 0; q < rows_for.size(); ++q)
      for_rows(copies_, own, rows_for[q], 0, [&](std::size_t k, std::int32_t e, std::int32_t g) {
        to_send.add(static_cast<int>(q), fine.named.global(rows_for[q][k]), e, g);
      });
  });
  fine.of_P.exchange = exchanged_entries(making, border_, to_send.entries);
  rows_received found = exchange_rows(making, *border_, std::move(to_send), coarse);
  by_all([&] {
    const auto now = coarse.name(found.names);
    renumber({{own.indices, own.nonzeros}, {fine.aggregate, fine.named.with_ghosts()}}, coarse.own(), now);
    found.number_rows(fine.named.ghosts);
    name_columns(found, coarse);
    own.columns = coarse.with_ghosts();
    fine.P = with_received(own, fine.named.with_ghosts() - n, found, fine.of_P);
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
  rows_to_send to_send(ranks_.ranks().size());
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
    const std::vector<std::int32_t> rows = rows_flagged(copies_.fetched(names, n));
    const std::vector<int> owners = coarse.owners();
    const auto from = static_cast<std::int32_t>(coarse.own());
    for_rows(copies_, fine.Q, rows, from, [&](std::size_t k, std::int32_t e, std::int32_t g) {
      to_send.add(owners[as_size(g - from)], fine.named.global(rows[k]), e, g);
    });
  });
  fine.of_Q.exchange = exchanged_entries(making, border_, to_send.entries);
  rows_received found = exchange_rows(making, *border_, std::move(to_send), coarse);
  local_numbers of_cycle = fine.named;
  by_all([&] {
    of_cycle.name(found.row_names());
    fine.ghosts = of_cycle.ghosts;
    found.number_rows(fine.ghosts);
    name_columns(found, coarse);
    const index_type own = fine.Q.nonzeros;
    pattern_view all = with_received(fine.Q, of_cycle.with_ghosts() - n, found, fine.of_Q);
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
  rows_to_send to_send(ranks_.ranks().size());
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
    const std::vector<int> owners = coarse.owners();
    for_rows(copies_, shares, rows, 0,
             [&](std::size_t k, std::int32_t e, std::int32_t g) { to_send.add(owners[k], coarse.ghosts[k], e, g); });
  });
  fine.of_shares.exchange = exchanged_entries(making, border_, to_send.entries);
  rows_received found = exchange_rows(making, *border_, std::move(to_send), coarse);
  by_all([&] {
    const auto now = coarse.name(found.names);
    renumber({{shares.indices, shares.nonzeros},
              {fine.P.indices, fine.P.nonzeros},
              {fine.aggregate, fine.named.with_ghosts()},
              {fine.AP.indices, fine.AP.nonzeros},
              {fine.Q.indices, fine.Q.nonzeros}},
             own, now);
    for (pattern_view* const one : {&shares, &fine.P, &fine.AP, &fine.Q}) one->columns = coarse.with_ghosts();
    std::vector<std::int32_t> row_of_share;
    for (row_sent& one : found.rows) {
      row_of_share.push_back(coarse.local(one.row));
      one.row = static_cast<index_type>(row_of_share.size()) - 1;
    }
    name_columns(found, coarse);
    const auto more = static_cast<index_type>(row_of_share.size());
    fine.shares = with_received(shares, more, found, fine.of_shares);
    fine.shares_values = kept_.take<C>(fine.shares.nonzeros).data();
    // E: own rows, and what others have of them.
    std::vector<std::int32_t> order(row_of_share.size()), row_in_order;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t one, std::int32_t other) {
      return row_of_share[as_size(one)] < row_of_share[as_size(other)];
    });
    for (const std::int32_t t : order) row_in_order.push_back(row_of_share[as_size(t)]);
    const buffer<std::int32_t> shares_in_order(where_, more, order.data()),
        rows_in_order(where_, more, row_in_order.data());
    const index_type nonzeros_of_E = own + more;
    std::int32_t *const offsets_of_E = kept_.take<std::int32_t>(own + 1).data(),
                        *const indices_of_E = kept_.take<std::int32_t>(nonzeros_of_E).data();
    fine.E = {own, fine.shares.rows, nonzeros_of_E, offsets_of_E, indices_of_E};
    fine.ones = kept_.take<C>(nonzeros_of_E).data();
    const columns_of_product source{fine.E, fine.shares};
    run([&](recorder& steps) {
      steps.step("E", own + 1,
                 put_rows_of_shares{rows_in_order.data(), shares_in_order.data(), static_cast<std::int32_t>(more),
                                    static_cast<std::int32_t>(own), static_cast<std::int32_t>(with_ghosts),
                                    offsets_of_E, indices_of_E});
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

/// The names of columns give way to local numbers.
template <class C>
void levels_of_group<C>::name_columns(rows_received& found, const local_numbers& numbers) {
  std::vector<std::int32_t> local;
  local.reserve(found.names.size());
  for (const index_type name : found.names) local.push_back(numbers.local(name));
  for (std::int32_t& column : found.columns) column = local[as_size(column)];
}

template <class C>
pattern_view levels_of_group<C>::with_received(const pattern_view& own, index_type more_rows,
                                               const rows_received& found, entries_of_others& received) {
  const auto count = static_cast<index_type>(found.columns.size());
  require_32_bits(own.nonzeros + count);
  received.begin = own.nonzeros;
  std::vector<std::pair<std::int32_t, std::int32_t>> in_order;  // columns, and where they are among those received
  in_order.reserve(found.columns.size());
  for (const std::int32_t column : found.columns)
    in_order.emplace_back(column, static_cast<std::int32_t>(in_order.size()));
  std::vector<std::int32_t> ends(as_size(more_rows));
  auto begin = in_order.begin();
  for (const row_sent& one : found.rows) {
    std::sort(begin, begin + one.entries);
    begin += one.entries;
    ends[as_size(one.row)] = static_cast<std::int32_t>(one.entries);
  }
  std::int32_t end = static_cast<std::int32_t>(own.nonzeros);
  for (std::int32_t& one : ends) one = end += one;
  std::vector<std::int32_t> order, columns;
  order.reserve(in_order.size());
  columns.reserve(in_order.size());
  for (const auto& [column, place] : in_order) {
    columns.push_back(column);
    order.push_back(place);
  }
  received.order = buffer<std::int32_t>(where_, count, order.data());
  std::int32_t *const offsets = kept_.take<std::int32_t>(own.rows + more_rows + 1).data(),
                      *const indices = kept_.take<std::int32_t>(own.nonzeros + count).data();
  run([&](recorder& steps) {
    steps.step("own rows", own.rows + 1, copy_entries<std::int32_t>{own.offsets, offsets});
    steps.step("own columns", own.nonzeros, copy_entries<std::int32_t>{own.indices, indices});
  });
  copies_.put(offsets + own.rows + 1, ends);
  copies_.put(indices + own.nonzeros, columns);
  return {own.rows + more_rows, own.columns, own.nonzeros + count, offsets, indices};
}

template <class C>
void levels_of_group<C>::renumber(std::initializer_list<columns_of_level> all, index_type own,
                                  const std::vector<std::int32_t>& now) {
  if (now.empty()) return;
  const buffer<std::int32_t> table(where_, static_cast<index_type>(now.size()), now.data());
  run([&](recorder& steps) {
    for (const columns_of_level& some : all)
      steps.step(
          "other numbers for ghosts", some.count,
          renumber_ghosts{const_cast<std::int32_t*>(some.indices), static_cast<std::int32_t>(own), table.data()});
  });
}

}  // namespace whilst::multigrid
