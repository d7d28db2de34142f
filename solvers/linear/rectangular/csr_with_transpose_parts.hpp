#pragma once

#include <memory>

#include "solvers/linear/rectangular/csr_with_transpose.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// The matrix of a request that has its transposed pattern.
template <class Offset, class T>
csr_with_transpose<T, Offset> csr_with_transpose_of(const solve_request<T>& request) {
  const pattern_of_transpose<Offset> pattern{
      request.columns, static_cast<const Offset*>(request.transposed.row_offsets), request.transposed.column_indices,
      static_cast<const Offset*>(request.transposed.sources)};
  const double entries_a_column =
      request.columns ? static_cast<double>(request.nonzeros) / static_cast<double>(request.columns) : 0;
  return {csr_of<Offset>(request), pattern, lanes_for_row(entries_a_column)};
}

/// The same in parts.
template <class T, class Offset>
std::unique_ptr<linear_operator<T>> make_csr_with_transpose(place where, const csr_with_transpose<T, Offset>& A);
/// column_preconditioner in parts, for an operator that has_normal_diagonal().
template <class T>
std::unique_ptr<preconditioner<T>> make_column_preconditioner();

}  // namespace whilst
