#pragma once

#include "solvers/linear/rectangular/bidiagonalization.hpp"
#include "solvers/linear/rectangular/csr_with_transpose.hpp"
#include "solvers/linear/rectangular/csr_with_transpose_parts.hpp"
#include "solvers/linear/rectangular/least_squares_solve.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Records the least-squares solve that `request` describes by Method. In one kernel with the method: a matrix with
/// 32-bit offsets, alone or, if `fuses_columns`, with its columns scaled. All else in parts.
template <template <class, class, class> class Method, class T, bool fuses_columns>
recorded_solve<T> record_least_squares(const solve_request<T>& request) {
  const auto recorded = [&](const auto& A, const auto& M) {
    using Operator = std::remove_cvref_t<decltype(A)>;
    using Preconditioner = std::remove_cvref_t<decltype(M)>;
    return record_as<least_squares_solve<T, Operator, Preconditioner, Method>>(request, A, M);
  };
  const bool by_columns = request.preconditioner == preconditioner_kind::jacobi;
  if (!request.parts && !request.offsets_64 && request.preconditioner != preconditioner_kind::parts) {
    const auto A = csr_with_transpose_of<std::int32_t>(request);
    if (!by_columns) return recorded(A, identity_preconditioner{});
    if constexpr (fuses_columns) return recorded(A, column_preconditioner<T>{});
  }
  std::unique_ptr<linear_operator<T>> matrix;
  if (!request.parts)
    matrix = request.offsets_64 ? make_csr_with_transpose(request.where, csr_with_transpose_of<std::int64_t>(request))
                                : make_csr_with_transpose(request.where, csr_with_transpose_of<std::int32_t>(request));
  std::unique_ptr<preconditioner<T>> of_columns;
  if (by_columns) of_columns = make_column_preconditioner<T>();
  return recorded(composed_operator<T>{request.parts ? request.parts : matrix.get()},
                  composed_preconditioner<T>{of_columns ? of_columns.get() : request.preconditioner_parts});
}

/// The entry of a method in linear_methods().
template <template <class, class, class> class Method, class T, bool fuses_columns = false>
linear_method<T> listed_least_squares() {
  using method = Method<T, scaled_operator<T, composed_operator<T>>, composed_preconditioner<T>>;
  return {method::name, record_least_squares<Method, T, fuses_columns>, method::needs, {}};
}

}  // namespace whilst
