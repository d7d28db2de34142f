#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "solvers/linear/automatic/choose_method.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {

/// Throws whilst::error unless A, in host memory, equals its transpose as far as rounding goes. A NaN equals nothing,
/// but is a reason for a solve to stop.
template <class T>
void require_symmetric(std::string_view doing, const csr_matrix<T>& A) {
  const auto values = A.values();
  const bool are_finite = std::all_of(values.begin(), values.end(), [](T value) { return std::isfinite(value); });
  if (!are_finite || is_symmetric(A)) return;
  throw error(doing, "the matrix is not symmetric", "Give a symmetric one, as (A + A') / 2");
}

/// The same for one in any memory, which must also be square and have rows.
template <class T>
void require_symmetric(std::string_view doing, const csr_matrix<T>& A, place where) {
  if (A.rows() != A.columns())
    throw error(doing,
                "the matrix has " + std::to_string(A.rows()) + " rows and " + std::to_string(A.columns()) + " columns",
                "Give a square one; singular values of A are the roots of the eigenvalues of A'A");
  if (A.rows() == 0) throw error(doing, "the matrix has no rows", "Give one that has");
  require_symmetric(doing, A.is_on_device() ? copied_to_host(A, A.values_data(), where) : A);
}

/// Of one in host memory. Entries at one position count as their sum.
template <class T>
bool has_positive_diagonal(const csr_matrix<T>& A) {
  for (index_type i = 0; i < A.rows(); ++i) {
    double entry = 0;
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      if (A.column_indices()[static_cast<std::size_t>(k)] == i)
        entry += static_cast<double>(A.values()[static_cast<std::size_t>(k)]);
    if (!(entry > 0)) return false;
  }
  return true;
}

}  // namespace whilst
