#pragma once

#include "solvers/linear/columns/columns_solve.hpp"
#include "solvers/linear/columns/conjugate_gradient_of_columns.hpp"
#include "solvers/linear/columns/record_columns.hpp"

namespace whilst {

template <class T, class Offset>
recorded_solve<T> record_columns_with(const solve_request<T>& request) {
  const auto A = csr_of<Offset>(request);
  const auto with = [&]<class Preconditioner>(const Preconditioner& M) {
    using solve_type =
        columns_solve<T, std::remove_const_t<decltype(A)>, Preconditioner, conjugate_gradient_of_columns>;
    recorded_solve<T> made = record_as<solve_type>(request, A, M);
    made.inner = nullptr;  // a loop for all columns, whose count is no column's
    return made;
  };
  if (request.preconditioner == preconditioner_kind::jacobi) return with(jacobi_preconditioner<T>{});
  return with(identity_preconditioner{});
}

}  // namespace whilst
