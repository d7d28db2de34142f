#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "whilst/linear/distributed/distributed_csr_matrix.hpp"

namespace whilst_test {

/// Some rows of a matrix, as a rank gives them.
template <class T>
struct given_rows {
  whilst::index_type first = 0;
  std::vector<std::int64_t> offsets, columns;
  std::vector<T> values;

  given_rows(const whilst::csr_matrix<T>& A, whilst::index_type begin, whilst::index_type end) : first(begin) {
    const whilst::index_type before = A.row_offset(begin);
    for (whilst::index_type i = begin; i <= end; ++i) offsets.push_back(A.row_offset(i) - before);
    for (whilst::index_type k = before; k < A.row_offset(end); ++k) {
      columns.push_back(A.column_indices()[static_cast<std::size_t>(k)]);
      values.push_back(A.values()[static_cast<std::size_t>(k)]);
    }
  }
  whilst::distributed_csr_matrix<T> matrix(const whilst::group& ranks) const {
    return {ranks, first, offsets, columns, values};
  }
};

/// A matrix split where `split` says: first rows of the ranks, then the number of all rows.
template <class T>
whilst::distributed_csr_matrix<T> distributed(const whilst::group& ranks, const whilst::csr_matrix<T>& A,
                                              const std::vector<whilst::index_type>& split) {
  const auto q = static_cast<std::size_t>(ranks.rank());
  return given_rows<T>(A, split[q], split[q + 1]).matrix(ranks);
}

/// A x on one rank, each row added up in the order of its entries.
template <class T>
std::vector<T> serial_product(const whilst::csr_matrix<T>& A, const std::vector<T>& x) {
  std::vector<T> y;
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    T sum = 0;
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto at = static_cast<std::size_t>(k);
      sum += A.values()[at] * x[static_cast<std::size_t>(A.column_indices()[at])];
    }
    y.push_back(sum);
  }
  return y;
}

}  // namespace whilst_test
