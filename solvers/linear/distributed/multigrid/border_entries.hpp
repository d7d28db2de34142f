#pragma once

#include <cstdint>
#include <vector>

#include "solvers/linear/distributed/multigrid/exchanged_entries.hpp"
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
/// An entry of a matrix, by global numbers.
struct entry_named {
  index_type row, column;
};
/// Entries that are to be sent: for each rank which ones, and in their order the rows they are of.
struct entries_to_send {
  std::vector<std::vector<std::int32_t>> for_rank;
  std::vector<std::vector<index_type>> rows;

  explicit entries_to_send(int ranks) : for_rank(as_size(ranks)), rows(as_size(ranks)) {}
  void add(int q, std::int32_t entry, index_type row) {
    for_rank[as_size(q)].push_back(entry);
    rows[as_size(q)].push_back(row);
  }
  std::vector<index_type> all_rows() const {
    std::vector<index_type> all;
    for (const auto& some : rows) all.insert(all.end(), some.begin(), some.end());
    return all;
  }
};
/// The first rows of a pattern, which have so many entries.
inline pattern_view rows_of(pattern_view pattern, index_type rows, index_type nonzeros) {
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

}  // namespace whilst::multigrid
