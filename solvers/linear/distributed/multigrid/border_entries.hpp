#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "solvers/linear/distributed/multigrid/level_of_group.hpp"
#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"

namespace whilst::multigrid {

inline std::size_t as_size(index_type i) { return static_cast<std::size_t>(i); }
template <class V>
struct fill_entries {
  V value;
  V* to;
  WHILST_HD void operator()(index_type i) const { to[i] = value; }
};
template <class V>
struct put_entries {
  const std::int32_t* which;
  const V* values;
  V* to;
  WHILST_HD void operator()(index_type k) const { to[which[k]] = values[k]; }
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
/// For each row its own share, and those that came from other ranks: these lie behind `own_shares` others.
struct put_rows_of_shares {
  const std::int32_t *rows, *shares;  ///< of those from others, in the order of rows
  std::int32_t received, own, own_shares;
  std::int32_t *offsets, *indices;
  WHILST_HD void operator()(index_type i) const {
    std::int32_t begin = 0;  // of those for this row
    for (std::int32_t end = received; begin < end;) {
      const std::int32_t middle = begin + (end - begin) / 2;
      if (rows[middle] < i) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    std::int32_t at = static_cast<std::int32_t>(i) + begin;
    offsets[i] = at;
    if (i == own) return;
    indices[at++] = static_cast<std::int32_t>(i);
    for (; begin < received && rows[begin] == i; ++begin) indices[at++] = own_shares + shares[begin];
  }
};
/// A row of a matrix that a rank sends, or some entries of it.
struct row_sent {
  index_type row;  ///< by its global number
  std::int64_t entries;
};
/// What is to be sent to each rank, row by row: entries, and their columns.
struct rows_to_send {
  std::vector<std::vector<row_sent>> rows;
  std::vector<std::vector<std::int32_t>> entries, columns;

  explicit rows_to_send(int ranks) : rows(as_size(ranks)), entries(as_size(ranks)), columns(as_size(ranks)) {}
  void add(int q, index_type row, std::int32_t entry, std::int32_t column) {
    std::vector<row_sent>& of_rank = rows[as_size(q)];
    if (of_rank.empty() || of_rank.back().row != row) of_rank.push_back({row, 0});
    ++of_rank.back().entries;
    entries[as_size(q)].push_back(entry);
    columns[as_size(q)].push_back(column);
  }
};
/// What a rank got, in the order of the ranks it is from, and of each in the order in which that sent it.
struct rows_received {
  std::vector<row_sent> rows;
  std::vector<std::int32_t> columns;  ///< which of the names
  std::vector<index_type> names;      ///< of columns, by global numbers

  std::vector<index_type> row_names() const {
    std::vector<index_type> all;
    all.reserve(rows.size());
    for (const row_sent& one : rows) all.push_back(one.row);
    return all;
  }
  /// Rows' names, which are in order, give way to places among all.
  void number_rows(const std::vector<index_type>& all) {
    const std::vector<std::int32_t> places = places_among(row_names(), all, 0);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].row = places[k];
  }
};
/// A column recurs in row after row, so its name is sent once. numbers: of the columns. Collective.
inline rows_received exchange_rows(const char* doing, border_window& border, rows_to_send sent,
                                   const local_numbers& numbers) {
  std::vector<std::vector<index_type>> names(sent.columns.size());
  border.ranks().agree(doing, [&] {
    std::vector<std::int32_t> name_of(as_size(numbers.with_ghosts()), -1), named;
    for (std::size_t q = 0; q < names.size(); ++q) {
      for (std::int32_t& column : sent.columns[q]) {
        std::int32_t& name = name_of[as_size(column)];
        if (name < 0) {
          name = static_cast<std::int32_t>(names[q].size());
          names[q].push_back(numbers.global(column));
          named.push_back(column);
        }
        column = name;
      }
      for (const std::int32_t column : named) name_of[as_size(column)] = -1;
      named.clear();
    }
  });
  auto rows = border.exchange(doing, sent.rows);
  auto columns = border.exchange(doing, sent.columns);
  auto all_names = border.exchange(doing, names);
  for (std::size_t q = 0; q < names.size(); ++q)
    for (std::size_t k = columns.first[q]; k < columns.first[q + 1]; ++k)
      columns.all[k] += static_cast<std::int32_t>(all_names.first[q]);
  return {std::move(rows.all), std::move(columns.all), std::move(all_names.all)};
}
/// The rows whose flag is 1, few of many.
inline std::vector<std::int32_t> rows_flagged(const std::vector<std::uint8_t>& flags) {
  std::vector<std::int32_t> rows;
  const std::uint8_t *const begin = flags.data(), *const end = begin + flags.size();
  for (const std::uint8_t* at = begin; at != end; ++at) {
    at = static_cast<const std::uint8_t*>(std::memchr(at, 1, static_cast<std::size_t>(end - at)));
    if (!at) break;
    rows.push_back(static_cast<std::int32_t>(at - begin));
  }
  return rows;
}
/// The first rows of a pattern, which have so many entries.
inline pattern_view rows_of(pattern_view pattern, index_type rows, index_type nonzeros) {
  pattern.rows = rows;
  pattern.nonzeros = nonzeros;
  return pattern;
}
/// Where the entries of some rows begin whose columns are `from` or greater; these rows are in order unless that is 0.
struct find_begins {
  pattern_view pattern;
  const std::int32_t* rows;
  std::int32_t from, *begins;
  WHILST_HD void operator()(index_type k) const {
    begins[k] = from == 0 ? pattern.offsets[rows[k]] : pattern.find(rows[k], from);
  }
};
/// Rows of a pattern, in host memory, from a column on: calls visit(k, e, column) for each entry e of the k-th row
/// listed.
template <class Visit>
void for_rows(const host_copies& copies, const pattern_view& pattern, const std::vector<std::int32_t>& rows,
              std::int32_t from, const Visit& visit) {
  if (rows.empty()) return;
  const auto count = static_cast<index_type>(rows.size());
  const buffer<std::int32_t> listed(copies.where(), count, rows.data()), first(copies.where(), count);
  copies.run("where rows begin", count, find_begins{pattern, listed.data(), from, first.data()});
  const auto begins = copies.fetched(first.data(), count), ends = copies.fetched(pattern.offsets + 1, listed);
  std::size_t all = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) all += as_size(ends[k] - begins[k]);
  std::vector<std::int32_t> entries;
  entries.reserve(all);
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (std::int32_t e = begins[k]; e < ends[k]; ++e) entries.push_back(e);
  const auto columns = copies.fetched(
      pattern.indices, buffer<std::int32_t>(copies.where(), static_cast<index_type>(entries.size()), entries.data()));
  std::size_t next = 0;
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (std::int32_t e = begins[k]; e < ends[k]; ++e) visit(k, e, columns[next++]);
}

}  // namespace whilst::multigrid
