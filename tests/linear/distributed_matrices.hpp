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

/// The entries of x that a rank has.
template <class T>
std::vector<T> part_of(const std::vector<T>& x, const whilst::row_partition& partition, int rank) {
  return {x.begin() + partition.first(rank), x.begin() + partition.first(rank + 1)};
}

/// A square matrix without entries.
template <class T>
whilst::csr_matrix<T> zero_matrix(whilst::index_type n) {
  return whilst::csr_matrix<T>(n, n, std::vector<int>(static_cast<std::size_t>(n) + 1), std::vector<int>(),
                               std::vector<T>());
}

//   rank 0  row 0   [ 1  2  .  .  3 ]
//           row 1   [ 4  .  .  .  . ]
//   rank 1  row 2   [ .  .  5  6  . ]
//           row 3   [ 7  .  .  8  9 ]
//   rank 2  row 4   [ .  .  . 10 11 ]
inline const whilst::csr_matrix<double> small(5, 5, std::vector<int>{0, 3, 4, 6, 9, 11},
                                              std::vector<int>{0, 1, 4, 0, 2, 3, 0, 3, 4, 3, 4},
                                              std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});

}  // namespace whilst_test
