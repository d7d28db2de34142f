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

/// The same with what the request has instead: a preconditioner in parts, which each rank records for itself.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_distributed_matrix_or_parts(const solve_request<T>& request, const distributed_setup& setup) {
  if (request.preconditioner != preconditioner_kind::parts) return record_distributed_matrix<Method, T>(request, setup);
  return record_distributed<Method>(request, setup.operator_of<T>(csr_of<std::int32_t>(request)),
                                    composed_preconditioner<T>{request.preconditioner_parts});
}

/// Of preconditioner "chebyshev" on several ranks: see chebyshev_options.
struct chebyshev_settings {
  int degree, lanczos_steps;
  double ratio;
  index_type first_row;  ///< of this rank
};

template <class T>
struct coarse_steps;
template <class T>
class preconditioner_of_group;

/// Whether a method multiplies two vectors at once on ranks of a group.
template <class Method>
inline constexpr bool method_exchanges_two = requires {
  requires Method::exchanges_two;
};

/// A method that groups can use.
template <class T>
struct distributed_method {
  const char* name;
  method_needs needs;
  bool takes_parts;    ///< preconditioners in parts, too
  bool exchanges_two;  ///< where M is pointwise: see distributed_setup::make_halo
  recorded_solve<T> (*record)(const solve_request<T>&, const distributed_setup&);
  /// Null where it does not take them. values: where M finds the matrix's.
  recorded_solve<T> (*record_with_chebyshev)(const solve_request<T>&, const distributed_setup&,
                                             const chebyshev_settings&, constant_slot<const T> values);
  recorded_solve<T> (*record_with_amg)(const solve_request<T>&, const distributed_setup&, const chebyshev_settings&,
                                       constant_slot<const T> values, const coarse_steps<T>&);
  recorded_solve<T> (*record_with_parts)(const solve_request<T>&, const distributed_setup&,
                                         const preconditioner_of_group<T>&);
  /// In place of `record`, for methods that multiply with the transpose, too; else null.
  recorded_solve<T> (*record_with_transpose)(const solve_request<T>&, const distributed_setup&,
                                             const csr_operator<T, std::int32_t, constant_slot<const T>>&) = nullptr;
};
/// The entry of one.
template <template <class, class, class> class Method, class T>
distributed_method<T> listed_for_groups() {
  using method = Method<T, composed_operator<T>, composed_preconditioner<T>>;
  constexpr bool exchanges_two =
      method_exchanges_two<Method<T, distributed_operator<T, csr_operator<T, std::int32_t>>, identity_preconditioner>>;
  return {method::name, method::needs, false,  exchanges_two, record_distributed_matrix<Method, T>,
          nullptr,      nullptr,       nullptr};
}
// What is compiled apart.
template <class T>
recorded_solve<T> distributed_conjugate_gradient_with_chebyshev(const solve_request<T>&, const distributed_setup&,
                                                                const chebyshev_settings&, constant_slot<const T>);
template <class T>
recorded_solve<T> distributed_conjugate_gradient_with_amg(const solve_request<T>&, const distributed_setup&,
                                                          const chebyshev_settings&, constant_slot<const T>,
                                                          const coarse_steps<T>&);
template <class T>
recorded_solve<T> distributed_flexible_conjugate_gradient_with_chebyshev(const solve_request<T>&,
                                                                         const distributed_setup&,
                                                                         const chebyshev_settings&,
                                                                         constant_slot<const T>);
template <class T>
recorded_solve<T> distributed_flexible_conjugate_gradient_with_amg(const solve_request<T>&, const distributed_setup&,
                                                                   const chebyshev_settings&, constant_slot<const T>,
                                                                   const coarse_steps<T>&);

template <class T>
recorded_solve<T> distributed_conjugate_gradient_with_parts(const solve_request<T>&, const distributed_setup&,
                                                            const preconditioner_of_group<T>&);
template <class T>
distributed_method<T> distributed_conjugate_gradient();
template <class T>
recorded_solve<T> distributed_flexible_conjugate_gradient_with_parts(const solve_request<T>&, const distributed_setup&,
                                                                     const preconditioner_of_group<T>&);
template <class T>
distributed_method<T> distributed_flexible_conjugate_gradient();
template <class T>
distributed_method<T> distributed_pipelined_conjugate_gradient();
template <class T>
distributed_method<T> distributed_minres();
template <class T>
distributed_method<T> distributed_bicgstab();
template <class T>
distributed_method<T> distributed_gmres();
template <class T>
distributed_method<T> distributed_lsqr();

}  // namespace whilst
