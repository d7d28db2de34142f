#include "solvers/files/matrix_market_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace whilst::detail::matrix_market {

namespace {

/// Sorts one row by column; stable, so that entries with the same column keep their file order.
template <class T>
void sort_row(std::span<std::int32_t> columns, std::span<T> values, std::vector<std::pair<std::int32_t, T>>& scratch) {
  if (std::is_sorted(columns.begin(), columns.end())) return;
  constexpr std::size_t short_row = 24;
  if (columns.size() <= short_row) {
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const std::int32_t column = columns[i];
      const T value = values[i];
      std::size_t j = i;
      for (; j > 0 && columns[j - 1] > column; --j) {
        columns[j] = columns[j - 1];
        values[j] = values[j - 1];
      }
      columns[j] = column;
      values[j] = value;
    }
    return;
  }
  scratch.clear();
  for (std::size_t i = 0; i < columns.size(); ++i) scratch.emplace_back(columns[i], values[i]);
  std::stable_sort(scratch.begin(), scratch.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < columns.size(); ++i) std::tie(columns[i], values[i]) = scratch[i];
}

/// The arrays of a matrix under construction.
template <class Offset, class T>
struct csr_arrays {
  std::vector<Offset> offsets;
  std::vector<std::int32_t> columns;
  std::vector<T> values;
};

/// Counts the entries of each row, then puts each entry into the next free slot of its row. Files sorted by column, as
/// most are, arrive sorted.
template <class Offset, class T>
csr_arrays<Offset, T> distribute(const matrix_market_header& header,
                                 const std::vector<matrix_market_entry<T>>& entries) {
  const bool mirrored = header.symmetry != matrix_market_symmetry::general;
  const T sign = header.symmetry == matrix_market_symmetry::skew_symmetric ? T{-1} : T{1};

  csr_arrays<Offset, T> rows;
  // Shifted by one, so that filling the rows moves every offset to its final position.
  std::vector<Offset>& offsets = rows.offsets;
  offsets.resize(static_cast<std::size_t>(header.rows) + 2);
  for (const matrix_market_entry<T>& e : entries) {
    ++offsets[static_cast<std::size_t>(e.row) + 2];
    if (mirrored && e.row != e.column) ++offsets[static_cast<std::size_t>(e.column) + 2];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  rows.columns.resize(static_cast<std::size_t>(offsets.back()));
  rows.values.resize(rows.columns.size());
  const auto place = [&](std::int32_t row, std::int32_t column, T value) {
    const auto k = static_cast<std::size_t>(offsets[static_cast<std::size_t>(row) + 1]++);
    rows.columns[k] = column;
    rows.values[k] = value;
  };
  for (const matrix_market_entry<T>& e : entries) {
    place(e.row, e.column, e.value);
    if (mirrored && e.row != e.column) place(e.column, e.row, sign * e.value);
  }
  offsets.pop_back();
  return rows;
}

/// Sorts the rows that need it, sums entries at the same position and compacts the rest to the front.
template <class Offset, class T>
void sort_and_sum(const reader& file, csr_arrays<Offset, T>& rows) {
  auto& [offsets, columns, values] = rows;
  std::vector<std::pair<std::int32_t, T>> scratch;
  std::size_t kept = 0;
  for (std::size_t row = 0, first = 0; row + 1 < offsets.size(); ++row) {
    const auto last = static_cast<std::size_t>(offsets[row + 1]);
    sort_row(std::span(columns).subspan(first, last - first), std::span(values).subspan(first, last - first), scratch);
    const std::size_t row_start = kept;
    for (std::size_t k = first; k < last; ++k) {
      if (kept > row_start && columns[kept - 1] == columns[k]) {
        values[kept - 1] += values[k];
        if (!std::isfinite(values[kept - 1])) {
          file.fail_at_sizes("entries for row " + std::to_string(row + 1) + " and column " +
                                 std::to_string(columns[k] + 1) + " that sum to infinity",
                             "a finite sum");
        }
      } else {
        columns[kept] = columns[k];
        values[kept] = values[k];
        ++kept;
      }
    }
    offsets[row + 1] = static_cast<Offset>(kept);
    first = last;
  }
  columns.resize(kept);
  values.resize(kept);
}

template <class Offset, class T>
csr_matrix<T> assemble(const reader& file, std::vector<matrix_market_entry<T>> entries) {
  const matrix_market_header& header = file.header();
  csr_arrays<Offset, T> rows = distribute<Offset>(header, entries);
  entries = {};
  sort_and_sum(file, rows);
  return csr_matrix<T>::adopt(header.rows, header.columns, std::move(rows.offsets), std::move(rows.columns),
                              std::move(rows.values));
}

}  // namespace

template <class T>
csr_matrix<T> assemble_rows(const reader& file, std::vector<matrix_market_entry<T>> entries) {
  // A symmetric file may yield nearly two nonzeros per entry.
  const bool general = file.header().symmetry == matrix_market_symmetry::general;
  const std::size_t nonzeros = general ? entries.size() : 2 * entries.size();
  return nonzeros <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())
             ? assemble<std::int32_t>(file, std::move(entries))
             : assemble<std::int64_t>(file, std::move(entries));
}

template csr_matrix<float> assemble_rows(const reader&, std::vector<matrix_market_entry<float>>);
template csr_matrix<double> assemble_rows(const reader&, std::vector<matrix_market_entry<double>>);

}  // namespace whilst::detail::matrix_market
