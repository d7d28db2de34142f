#include "whilst/linear/distributed/distributed_csr_matrix.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "solvers/linear/host_array.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {

namespace {

template <class T>
constexpr const char* making_distributed =
    std::is_same_v<T, float> ? "making a distributed matrix of float" : "making a distributed matrix of double";

[[noreturn]] void refuse_rows(const char* doing, const std::string& problem, const std::string& cure) {
  throw error(doing, problem, cure);
}

/// Calls visit(k, entry) for each entry of an array of any integer type.
template <class Visit>
void for_each_entry(const integer_array& array, const Visit& visit) {
  std::visit(
      [&](const auto& entries) {
        for (std::size_t k = 0; k < entries.size(); ++k) visit(k, entries[k]);
      },
      array);
}

std::size_t entries_of(const integer_array& array) {
  return std::visit([](const auto& entries) { return entries.size(); }, array);
}

/// Row offsets of 64 bits, checked against the number of entries.
std::vector<std::int64_t> checked_offsets(const char* doing, const integer_array& row_offsets, std::size_t columns,
                                          std::size_t values) {
  std::vector<std::int64_t> offsets;
  std::visit(
      [&](const auto& given) {
        const std::size_t i = detail::first_index(given.size(), [&](std::size_t at) {
          return at == 0 ? given[at] != 0 : given[at] < given[at - 1] || std::cmp_greater(given[at], columns);
        });
        if (i < given.size()) {
          refuse_rows(doing, "row_offsets[" + std::to_string(i) + "] is " + std::to_string(given[i]),
                      "Give offsets that start at 0, never fall, and end with the number of column indices, " +
                          std::to_string(columns));
        }
        offsets.assign(given.begin(), given.end());
      },
      row_offsets);
  if (offsets.empty()) refuse_rows(doing, "row_offsets is empty", "Give one entry more than this rank has rows");
  if (std::cmp_not_equal(offsets.back(), columns) || columns != values) {
    refuse_rows(doing,
                "the last row offset is " + std::to_string(offsets.back()) + ", and there are " +
                    std::to_string(columns) + " column indices and " + std::to_string(values) + " values",
                "Give as many of both as the last row offset says");
  }
  return offsets;
}

/// The rows of each rank, from the first one and the number of them that each gave.
row_partition partition_of(const char* doing, const arrays_of_ranks<index_type>& ranges, int ranks) {
  std::vector<index_type> first{0};
  for (int q = 0; q < ranks; ++q) {
    const index_type begin = ranges.of(q)[0], rows = ranges.of(q)[1];
    if (rows > 0 && begin != first.back()) {
      refuse_rows(doing,
                  "the rows of rank " + std::to_string(q) + " begin with " + std::to_string(begin) +
                      ", but the next one is " + std::to_string(first.back()),
                  "Give each row to one rank, in the order of ranks, from 0 on");
    }
    first.push_back(first.back() + rows);
  }
  return row_partition(std::move(first));
}

void sort_each_once(std::vector<index_type>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

/// Global numbers of the columns that other ranks have, ascending.
std::vector<index_type> ghosts_among(const char* doing, const integer_array& columns, const row_partition& partition,
                                     int rank, bool is_square) {
  const index_type rows = partition.rows(), first = partition.first(rank), last = partition.first(rank + 1);
  std::vector<index_type> ghosts;
  std::visit(
      [&](const auto& given) {
        const std::size_t k = detail::first_index(given.size(), [&](std::size_t at) {
          return std::cmp_less(given[at], 0) || std::cmp_greater_equal(given[at], rows);
        });
        if (k < given.size()) {
          refuse_rows(doing, "column_indices[" + std::to_string(k) + "] is " + std::to_string(given[k]),
                      "Give columns from 0 to " + std::to_string(rows - 1) +
                          (is_square ? ", as all ranks' rows together are " : ", as all ranks' columns together are ") +
                          std::to_string(rows));
        }
        std::mutex adding;
        detail::visit_ranges(given.size(), [&](std::size_t begin, std::size_t end) {
          std::vector<index_type> found;
          for (std::size_t at = begin; at < end; ++at)
            if (const auto it = static_cast<index_type>(given[at]); it < first || it >= last) found.push_back(it);
          sort_each_once(found);
          const std::lock_guard hold(adding);
          ghosts.insert(ghosts.end(), found.begin(), found.end());
        });
      },
      columns);
  sort_each_once(ghosts);
  return ghosts;
}

}  // namespace

template <class T>
distributed_csr_matrix<T>::distributed_csr_matrix(const group& ranks, index_type first_row,
                                                  const integer_array& row_offsets, const integer_array& column_indices,
                                                  std::span<const T> values)
    : distributed_csr_matrix(ranks, first_row, static_cast<const row_partition*>(nullptr), row_offsets, column_indices,
                             values) {}

template <class T>
distributed_csr_matrix<T>::distributed_csr_matrix(const group& ranks, index_type first_row,
                                                  const row_partition& columns, const integer_array& row_offsets,
                                                  const integer_array& column_indices, std::span<const T> values)
    : distributed_csr_matrix(ranks, first_row, &columns, row_offsets, column_indices, values) {}

template <class T>
distributed_csr_matrix<T>::distributed_csr_matrix(const group& ranks, index_type first_row,
                                                  const row_partition* columns, const integer_array& row_offsets,
                                                  const integer_array& column_indices, std::span<const T> values)
    : ranks_(ranks) {
  const char* const doing = making_distributed<T>;
  const auto ranges = ranks.all_gather<index_type>(doing, [&] {
    row_offsets_64_ = checked_offsets(doing, row_offsets, entries_of(column_indices), values.size());
    return std::vector{first_row, static_cast<index_type>(row_offsets_64_.size()) - 1};
  });
  std::vector<index_type> ghosts;
  const auto all_columns = ranks.all_gather<index_type>(doing, [&] {
    partition_ = partition_of(doing, ranges, ranks.size());
    columns_ = columns ? *columns : partition_;
    if (columns_.ranks() != ranks.size())
      refuse_rows(doing, "the columns are split among " + std::to_string(columns_.ranks()) + " ranks",
                  "Split them among " + std::to_string(ranks.size()) + ", as many as the group has");
    ghosts = ghosts_among(doing, column_indices, columns_, ranks.rank(), !columns);
    std::vector<index_type> first;
    for (int q = 0; q <= ranks.size(); ++q) first.push_back(columns_.first(q));
    return first;
  });
  ranks.agree(doing, [&] {
    for (int q = 1; q < ranks.size(); ++q)
      if (!std::ranges::equal(all_columns.of(q), all_columns.of(0)))
        refuse_rows(doing, "rank " + std::to_string(q) + " splits the columns otherwise than rank 0",
                    "Give all ranks the same");
  });
  halo_ = make_halo_plan(ranks, columns_, std::move(ghosts));
  ranks.agree(doing, [&] {
    values_.assign(values.begin(), values.end());
    if (std::in_range<std::int32_t>(values.size())) {
      row_offsets_32_.assign(row_offsets_64_.begin(), row_offsets_64_.end());
      row_offsets_64_ = {};
    }
    take_columns(column_indices);
    split_ = row_split(ranks, partition_);
  });
}

template <class T>
void distributed_csr_matrix<T>::take_columns(const integer_array& column_indices) {
  const index_type first = columns_.first(ranks_.rank()), own = halo_.own;
  const std::vector<index_type>& ghosts = halo_.ghosts;
  column_indices_.resize(values_.size());
  std::visit(
      [&](const auto& given) {
        detail::visit_ranges(given.size(), [&](std::size_t begin, std::size_t end) {
          for (std::size_t k = begin; k < end; ++k) {
            const index_type column = static_cast<index_type>(given[k]), local = column - first;
            const bool is_own = local >= 0 && local < own;
            column_indices_[k] = static_cast<std::int32_t>(
                is_own ? local : own + (std::lower_bound(ghosts.begin(), ghosts.end(), column) - ghosts.begin()));
          }
        });
      },
      column_indices);
  std::vector<std::uint8_t> reads_ghost(static_cast<std::size_t>(rows()));
  detail::visit_ranges(reads_ghost.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      reads_ghost[i] = std::any_of(column_indices_.begin() + row_offset(static_cast<index_type>(i)),
                                   column_indices_.begin() + row_offset(static_cast<index_type>(i) + 1),
                                   [&](std::int32_t column) { return column >= own; });
  });
  const auto boundary = std::count(reads_ghost.begin(), reads_ghost.end(), 1);
  boundary_rows_.reserve(static_cast<std::size_t>(boundary));
  interior_rows_.reserve(reads_ghost.size() - static_cast<std::size_t>(boundary));
  for (std::int32_t i = 0; i < rows(); ++i)
    (reads_ghost[static_cast<std::size_t>(i)] ? boundary_rows_ : interior_rows_).push_back(i);
}

template <class T>
void distributed_csr_matrix<T>::update_values(const integer_array& row_offsets, const integer_array& column_indices,
                                              std::span<const T> values) {
  const char* const doing = "taking new values of a distributed matrix";
  ranks_.agree(doing, [&] {
    const char* const cure = "Give the same pattern in the same order, or make a new matrix";
    const auto offsets = checked_offsets(doing, row_offsets, entries_of(column_indices), values.size());
    bool same = std::cmp_equal(offsets.size(), rows() + 1);
    for (index_type i = 0; same && i <= rows(); ++i) same = offsets[static_cast<std::size_t>(i)] == row_offset(i);
    if (!same) refuse_rows(doing, "the row offsets differ from those that it was made with", cure);
    for_each_entry(column_indices, [&](std::size_t k, auto column) {
      if (std::cmp_equal(column, global_column(column_indices_[k]))) return;
      refuse_rows(doing,
                  "column_indices[" + std::to_string(k) + "] is " + std::to_string(column) + ", and was " +
                      std::to_string(global_column(column_indices_[k])),
                  cure);
    });
  });
  std::copy(values.begin(), values.end(), values_.begin());
}

template <class T>
void distributed_csr_matrix<T>::update_values(std::span<const T> values) {
  const char* const doing = "taking new values of a distributed matrix";
  ranks_.agree(doing, [&] {
    if (values.size() != values_.size())
      refuse_rows(
          doing,
          "there are " + std::to_string(values.size()) + " values for " + std::to_string(values_.size()) + " entries",
          "Give one for each entry of the pattern");
  });
  std::copy(values.begin(), values.end(), values_.begin());
}

template <class T>
index_type distributed_csr_matrix<T>::row_offset(index_type i) const {
  const auto at = static_cast<std::size_t>(i);
  return row_offsets_64_.empty() ? row_offsets_32_[at] : row_offsets_64_[at];
}

template <class T>
index_type distributed_csr_matrix<T>::global_column(index_type local) const {
  return local < halo_.own ? columns_.first(ranks_.rank()) + local
                           : halo_.ghosts[static_cast<std::size_t>(local - halo_.own)];
}

template <class T>
csr_matrix<T> distributed_csr_matrix<T>::local() const {
  const index_type columns = halo_.with_ghosts();
  return row_offsets_64_.empty() ? csr_matrix<T>::borrow(rows(), columns, row_offsets_32_, column_indices_, values_)
                                 : csr_matrix<T>::borrow(rows(), columns, row_offsets_64_, column_indices_, values_);
}

template <class T>
std::vector<T> distributed_csr_matrix<T>::multiply(std::span<const T> x) const {
  const char* const doing = "multiplying a distributed matrix";
  std::vector<T> extended, y;
  ranks_.agree(doing, [&] {
    if (static_cast<index_type>(x.size()) != halo_.own) {
      refuse_rows(doing, "x has " + std::to_string(x.size()) + " entries on this rank",
                  (is_square() ? "Give as many as it has rows: " : "Give as many as it has columns: ") +
                      std::to_string(halo_.own));
    }
    extended.assign(x.begin(), x.end());
    extended.resize(static_cast<std::size_t>(halo_.with_ghosts()));
    y.resize(static_cast<std::size_t>(rows()));
  });
  exchange_halo<T>(ranks_, halo_, extended);
  for (index_type i = 0; i < rows(); ++i) {
    T sum = 0;
    for (auto k = static_cast<std::size_t>(row_offset(i)); k < static_cast<std::size_t>(row_offset(i + 1)); ++k)
      sum += values_[k] * extended[static_cast<std::size_t>(column_indices_[k])];
    y[static_cast<std::size_t>(i)] = sum;
  }
  return y;
}

template class distributed_csr_matrix<float>;
template class distributed_csr_matrix<double>;

}  // namespace whilst
