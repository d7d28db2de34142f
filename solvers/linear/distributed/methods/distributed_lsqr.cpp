// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/rectangular/lsqr.hpp"

#include "solvers/linear/rectangular/csr_with_transpose.hpp"
#include "solvers/linear/rectangular/least_squares_solve.hpp"
#include "whilst/linear/distributed/distributed_with_transpose.hpp"
#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {
namespace {

template <class T>
recorded_solve<T> record_lsqr_of_group(const solve_request<T>& request, const distributed_setup& setup,
                                       const csr_operator<T, std::int32_t, constant_slot<const T>>& of_transpose) {
  using rows = csr_operator<T, std::int32_t, constant_slot<const T>>;
  using Operator = distributed_with_transpose<T, rows>;
  const Operator A(setup.operator_of<T>(csr_of<std::int32_t>(request)), setup.operator_of_transpose<T>(of_transpose));
  const auto recorded = [&](const auto& M) {
    using solve_type = least_squares_solve<T, Operator, std::remove_cvref_t<decltype(M)>, lsqr>;
    return record_as<solve_type>(request, A, M, [&](program_recorder& record, const auto& solve) {
      group_recorder run(record, A.halo.ranks);
      solve(run);
    });
  };
  return request.preconditioner == preconditioner_kind::jacobi ? recorded(column_preconditioner<T>{})
                                                               : recorded(identity_preconditioner{});
}

}  // namespace

template <class T>
distributed_method<T> distributed_lsqr() {
  using method = lsqr<T, scaled_operator<T, composed_operator<T>>, composed_preconditioner<T>>;
  return {method::name, method::needs, false, false, nullptr, nullptr, nullptr, nullptr, record_lsqr_of_group<T>};
}
template distributed_method<WHILST_NUMBER> distributed_lsqr();

}  // namespace whilst
