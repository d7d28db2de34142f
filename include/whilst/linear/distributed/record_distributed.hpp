#pragma once

#include "whilst/exchange/group_recorder.hpp"
#include "whilst/linear/distributed/distributed_setup.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Records a solve of a group by Method, for the rows of one rank: see distributed_operator.
template <template <class, class, class> class Method, class T, class Rows, class Preconditioner>
recorded_solve<T> record_distributed(const solve_request<T>& request, const distributed_operator<T, Rows>& A,
                                     const Preconditioner& M) {
  using solve_type = linear_solve<T, distributed_operator<T, Rows>, Preconditioner, Method>;
  return record_as<solve_type>(request, A, M, [&](program_recorder& record, const auto& solve) {
    group_recorder run(record, A.halo.ranks);
    solve(run);
  });
}

/// The same for the request's matrix, alone or with Jacobi: a rank's rows by its own columns and ghosts.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_distributed_matrix(const solve_request<T>& request, const distributed_setup& setup) {
  const auto A = setup.operator_of<T>(csr_of<std::int32_t>(request));
  return with_fused_preconditioner<Method, T, std::remove_const_t<decltype(A)>>(
      request, [&](const auto& M) { return record_distributed<Method>(request, A, M); });
}

/// A method that groups can use.
template <class T>
struct distributed_method {
  const char* name;
  recorded_solve<T> (*record)(const solve_request<T>&, const distributed_setup&);
};
template <class T>
distributed_method<T> distributed_conjugate_gradient();
template <class T>
distributed_method<T> distributed_pipelined_conjugate_gradient();
template <class T>
distributed_method<T> distributed_minres();
template <class T>
distributed_method<T> distributed_bicgstab();

}  // namespace whilst
