#pragma once

#include <vector>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// What a row adds to an iteration: its nonzeros, and itself, since vectors have an entry there.
template <class T>
index_type work_of_row(const csr_matrix<T>& A, index_type i) {
  return A.row_offset(i + 1) - A.row_offset(i) + 1;
}

/// Cuts the rows of A among ranks: rank q's begin where q / ranks of all work has passed. row(k): the number in A of
/// the row that comes k-th. One more entry than ranks; the last is the number of rows.
template <class T, class Row>
std::vector<index_type> cut_by_work(const csr_matrix<T>& A, index_type ranks, const Row& row) {
  const index_type all = A.nonzeros() + A.rows();
  std::vector<index_type> first;
  for (index_type q = 0, k = 0, passed = 0; q <= ranks; ++q) {
    const index_type before = all / ranks * q + all % ranks * q / ranks;
    while (passed < before) passed += work_of_row(A, row(k++));
    first.push_back(k);
  }
  return first;
}

}  // namespace whilst
