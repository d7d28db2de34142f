#pragma once

#include "solvers/linear/columns/columns_solve.hpp"
#include "solvers/linear/columns/conjugate_gradient_of_columns.hpp"
#include "solvers/linear/columns/conjugate_gradient_with_parts.hpp"
#include "solvers/linear/columns/record_columns.hpp"

namespace whilst {

template <template <class, class, class> class Method, class T, class Operator, class Preconditioner>
recorded_solve<T> record_columns_by(const solve_request<T>& request, const Operator& A, const Preconditioner& M) {
  recorded_solve<T> made = record_as<columns_solve<T, Operator, Preconditioner, Method>>(request, A, M);
  made.inner = nullptr;  // a loop for all columns, whose count is no column's
  return made;
}

template <class T, class Offset>
recorded_solve<T> record_columns_with(const solve_request<T>& request) {
  const auto A = csr_of<Offset>(request);
  if (request.preconditioner == preconditioner_kind::parts)
    return record_columns_by<conjugate_gradient_with_parts>(request, A,
                                                            composed_preconditioner<T>{request.preconditioner_parts});
  if (request.preconditioner == preconditioner_kind::jacobi)
    return record_columns_by<conjugate_gradient_of_columns>(request, A, jacobi_preconditioner<T>{});
  return record_columns_by<conjugate_gradient_of_columns>(request, A, identity_preconditioner{});
}

}  // namespace whilst
