#include "solvers/linear/distributed/transpose_of_group.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

constexpr const char* transposing_for_ranks = "transposing a distributed matrix";

template <class T>
struct entry_of_column {
  index_type row, column;
  T value;
};

/// The entries of A in this rank's columns, by rows, and in a row in its order.
template <class T>
std::vector<entry_of_column<T>> entries_of_own_columns(const distributed_csr_matrix<T>& A) {
  const group& ranks = A.ranks();
  const row_partition& split = A.columns();
  const csr_matrix<T> local = A.local();
  const halo_plan& plan = A.halo();
  const index_type first = A.partition().first(ranks.rank());
  const auto global_column = [&](std::int32_t column) {
    return column < plan.own ? split.first(ranks.rank()) + column
                             : plan.ghosts[static_cast<std::size_t>(column - plan.own)];
  };
  std::vector<entry_of_column<T>> mine;
  for (int q = 0; q < ranks.size(); ++q) {
    auto all = ranks.all_gather<entry_of_column<T>>(transposing_for_ranks, [&] {
      std::vector<entry_of_column<T>> for_q;
      for (index_type i = 0; i < local.rows(); ++i)
        for (index_type k = local.row_offset(i); k < local.row_offset(i + 1); ++k) {
          const auto at = static_cast<std::size_t>(k);
          const index_type column = global_column(local.column_indices()[at]);
          if (split.has(q, column)) for_q.push_back({first + i, column, local.values()[at]});
        }
      return for_q;
    });
    if (q == ranks.rank()) mine = std::move(all.all);
  }
  std::stable_sort(mine.begin(), mine.end(),
                   [](const auto& one, const auto& other) { return one.column < other.column; });
  return mine;
}

}  // namespace

template <class T>
distributed_csr_matrix<T> transposed(const distributed_csr_matrix<T>& A) {
  const row_partition& split = A.columns();
  const int self = A.ranks().rank();
  const std::vector<entry_of_column<T>> entries = entries_of_own_columns(A);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(split.rows_of(self)) + 1), columns;
  std::vector<T> values;
  for (const auto& one : entries) {
    offsets[static_cast<std::size_t>(one.column - split.first(self)) + 1] += 1;
    columns.push_back(one.row);
    values.push_back(one.value);
  }
  for (std::size_t j = 1; j < offsets.size(); ++j) offsets[j] += offsets[j - 1];
  return {A.ranks(), split.first(self), A.partition(), offsets, columns, values};
}

template <class T>
transpose_of_group<T>::transpose_of_group(const distributed_csr_matrix<T>& A, place where) : on_host_(transposed(A)) {
  A.ranks().agree(transposing_for_ranks, [&] {
    const csr_matrix<T> local = on_host_.local();
    if (local.nonzeros() >= std::numeric_limits<std::int32_t>::max())
      throw error(transposing_for_ranks, "a rank's columns have " + std::to_string(local.nonzeros()) + " entries",
                  "Split the rows among more ranks");
    std::vector<std::int32_t> offsets(static_cast<std::size_t>(local.rows()) + 1);
    for (index_type i = 0; i <= local.rows(); ++i)
      offsets[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(local.row_offset(i));
    row_offsets_ = buffer<std::int32_t>(where, local.rows() + 1, offsets.data());
    column_indices_ = buffer<std::int32_t>(where, local.nonzeros(), local.column_indices().data());
    values_ = buffer<T>(where, local.nonzeros(), local.values().data());
    const T* const address = values_.data();
    address_of_values_ = buffer<const T*>(where, 1, &address);
  });
}

template <class T>
typename transpose_of_group<T>::rows_type transpose_of_group<T>::rows() const {
  const csr_matrix<T> local = on_host_.local();
  const double entries_a_row =
      local.rows() > 0 ? static_cast<double>(local.nonzeros()) / static_cast<double>(local.rows()) : 0;
  return {local.rows(),
          row_offsets_.data(),
          column_indices_.data(),
          {address_of_values_.data()},
          lanes_for_row(entries_a_row),
          local.nonzeros()};
}

template <class T>
void transpose_of_group<T>::update_values(const distributed_csr_matrix<T>& A) {
  const std::vector<entry_of_column<T>> entries = entries_of_own_columns(A);
  A.ranks().agree(transposing_for_ranks, [&] {
    if (static_cast<index_type>(entries.size()) != values_.size())
      throw error(transposing_for_ranks, "the pattern has changed", "Make a new solver");
    std::vector<T> values;
    for (const auto& one : entries) values.push_back(one.value);
    if (!values.empty()) values_.upload(values.data());
  });
}

template distributed_csr_matrix<float> transposed(const distributed_csr_matrix<float>&);
template distributed_csr_matrix<double> transposed(const distributed_csr_matrix<double>&);
template class transpose_of_group<float>;
template class transpose_of_group<double>;

}  // namespace whilst
