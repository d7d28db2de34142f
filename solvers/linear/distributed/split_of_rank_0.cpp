// distributed_csr_matrix::from_rank_0: by consecutive rows, and by given parts.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "solvers/linear/distributed/equal_work.hpp"
#include "solvers/linear/host_array.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/linear/distributed/distributed_csr_matrix.hpp"

namespace whilst {

namespace {

std::size_t place_in(index_type i) { return static_cast<std::size_t>(i); }

template <class T>
void require_square_on_host(const char* doing, const csr_matrix<T>* matrix) {
  if (!matrix) throw error(doing, "rank 0 gave none", "Give it there, and null elsewhere");
  if (matrix->rows() != matrix->columns()) {
    throw error(
        doing,
        "it has " + std::to_string(matrix->rows()) + " rows and " + std::to_string(matrix->columns()) + " columns",
        "Give a square one");
  }
  (void)matrix->values();  // throws for one in device memory
}

void require_ranks_of_rows(const char* doing, std::span<const int> rank_of_row, index_type rows, int ranks) {
  if (static_cast<index_type>(rank_of_row.size()) != rows) {
    throw error(doing,
                "rank_of_row has " + std::to_string(rank_of_row.size()) + " entries, and the matrix " +
                    std::to_string(rows) + " rows",
                "Give a rank for each row");
  }
  const std::size_t i = detail::first_index(
      rank_of_row.size(), [&](std::size_t at) { return rank_of_row[at] < 0 || rank_of_row[at] >= ranks; });
  if (i < rank_of_row.size()) {
    throw error(doing, "rank_of_row[" + std::to_string(i) + "] is " + std::to_string(rank_of_row[i]),
                "Give ranks from 0 to " + std::to_string(ranks - 1) + ", as the group has " + std::to_string(ranks));
  }
}

/// An order of all rows by ranks. Rank 0 alone has the lists.
struct order_by_ranks {
  std::vector<index_type> first;            ///< of each rank, and the number of all rows
  std::vector<std::int32_t> rows, numbers;  ///< old numbers by new ones, and new by old

  order_by_ranks(std::span<const int> rank_of_row, int ranks)
      : first(place_in(ranks) + 1), rows(rank_of_row.size()), numbers(rank_of_row.size()) {
    for (const int q : rank_of_row) ++first[place_in(q) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<index_type> next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < rank_of_row.size(); ++i) {
      const index_type number = next[place_in(rank_of_row[i])]++;
      rows[place_in(number)] = static_cast<std::int32_t>(i);
      numbers[i] = static_cast<std::int32_t>(number);
    }
  }
};

/// A rank's rows on their way: what rank 0 sends, and what others, who send nothing, leave empty.
template <class T>
class rows_on_their_way {
 public:
  std::vector<std::int64_t> offsets;
  std::span<const std::int32_t> columns, original_rows;
  std::span<const T> values;

  rows_on_their_way() = default;
  rows_on_their_way(const rows_on_their_way&) = delete;  // spans may be of what it keeps
  rows_on_their_way& operator=(const rows_on_their_way&) = delete;

  /// Consecutive ones, in place.
  void take(const csr_matrix<T>& A, index_type first, index_type last) {
    const index_type begin = A.row_offset(first), end = A.row_offset(last);
    offsets.reserve(place_in(last - first) + 1);
    for (index_type i = first; i <= last; ++i) offsets.push_back(A.row_offset(i) - begin);
    columns = A.column_indices().subspan(place_in(begin), place_in(end - begin));
    values = A.values().subspan(place_in(begin), place_in(end - begin));
  }
  /// Those from one new number to below another.
  void take(const csr_matrix<T>& A, index_type first, index_type last, const order_by_ranks& order) {
    original_rows = std::span(order.rows).subspan(place_in(first), place_in(last - first));
    offsets.resize(original_rows.size() + 1);
    for (std::size_t k = 0; k < original_rows.size(); ++k)
      offsets[k + 1] = offsets[k] + A.row_offset(original_rows[k] + 1) - A.row_offset(original_rows[k]);
    renumbered_.resize(place_in(offsets.back()));
    collected_.resize(renumbered_.size());
    const auto all_columns = A.column_indices();
    const auto all_values = A.values();
    detail::visit_ranges(original_rows.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        std::size_t from = place_in(A.row_offset(original_rows[k]));
        for (std::size_t to = place_in(offsets[k]); to < place_in(offsets[k + 1]); ++to, ++from) {
          renumbered_[to] = order.numbers[place_in(all_columns[from])];
          collected_[to] = all_values[from];
        }
      }
    });
    columns = renumbered_;
    values = collected_;
  }

 private:
  std::vector<std::int32_t> renumbered_;
  std::vector<T> collected_;
};

/// What a rank got.
template <class T>
struct rows_of_rank {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns, original_rows;
  std::vector<T> values;
};

/// Sends each rank its rows, one rank's after another's. take(sent, first, last): has rank 0 take those between two new
/// numbers.
template <class T, class Take>
rows_of_rank<T> dealt_by_rank_0(const char* doing, const group& ranks, const row_partition& partition,
                                const Take& take) {
  rows_of_rank<T> own;
  for (int q = 0; q < ranks.size(); ++q) {
    rows_on_their_way<T> sent;
    auto offsets = ranks.all_gather<std::int64_t>(doing, [&] {
      if (ranks.rank() == 0) take(sent, partition.first(q), partition.first(q + 1));
      return std::move(sent.offsets);
    });
    auto columns = ranks.all_gather<std::int32_t>(doing, sent.columns);
    auto values = ranks.all_gather<T>(doing, sent.values);
    auto original_rows = ranks.all_gather<std::int32_t>(doing, sent.original_rows);
    if (ranks.rank() == q)
      own = {std::move(offsets.all), std::move(columns.all), std::move(original_rows.all), std::move(values.all)};
  }
  return own;
}

}  // namespace

template <class T>
distributed_csr_matrix<T> distributed_csr_matrix<T>::from_rank_0(const group& ranks, const csr_matrix<T>* matrix) {
  const char* const doing = "splitting a matrix of rank 0";
  const auto first = ranks.all_gather<index_type>(doing, [&] {
    if (ranks.rank() != 0) return std::vector<index_type>();
    require_square_on_host(doing, matrix);
    return cut_by_work(*matrix, ranks.size(), [](index_type k) { return k; });
  });
  const row_partition partition(first.all);
  const auto own = dealt_by_rank_0<T>(
      doing, ranks, partition, [&](auto& sent, index_type begin, index_type end) { sent.take(*matrix, begin, end); });
  return {ranks, partition.first(ranks.rank()), own.offsets, own.columns, own.values};
}

template <class T>
distributed_csr_matrix<T> distributed_csr_matrix<T>::from_rank_0(const group& ranks, const csr_matrix<T>* matrix,
                                                                 std::span<const int> rank_of_row) {
  const char* const doing = "splitting a matrix of rank 0 by given parts";
  order_by_ranks order({}, ranks.size());
  const auto first = ranks.all_gather<index_type>(doing, [&] {
    if (ranks.rank() != 0) return std::vector<index_type>();
    require_square_on_host(doing, matrix);
    require_ranks_of_rows(doing, rank_of_row, matrix->rows(), ranks.size());
    order = order_by_ranks(rank_of_row, ranks.size());
    return order.first;
  });
  const row_partition partition(first.all);
  auto own = dealt_by_rank_0<T>(doing, ranks, partition, [&](auto& sent, index_type begin, index_type end) {
    sent.take(*matrix, begin, end, order);
  });
  distributed_csr_matrix made(ranks, partition.first(ranks.rank()), own.offsets, own.columns, own.values);
  made.split_ = row_split(ranks, partition, std::move(own.original_rows));
  return made;
}

#define WHILST_SPLIT_OF_RANK_0(T)                                                                                \
  template distributed_csr_matrix<T> distributed_csr_matrix<T>::from_rank_0(const group&, const csr_matrix<T>*); \
  template distributed_csr_matrix<T> distributed_csr_matrix<T>::from_rank_0(const group&, const csr_matrix<T>*,  \
                                                                            std::span<const int>);
WHILST_SPLIT_OF_RANK_0(float)
WHILST_SPLIT_OF_RANK_0(double)

}  // namespace whilst
