// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/distributed/multigrid/amg_across_ranks.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"

namespace whilst {

template <class T>
recorded_solve<T> distributed_conjugate_gradient_with_parts(const solve_request<T>& request,
                                                            const distributed_setup& setup,
                                                            const preconditioner_of_group<T>& M) {
  return record_distributed<conjugate_gradient>(request, setup.operator_of<T>(csr_of<std::int32_t>(request)),
                                                composed_preconditioner_of_group<T>{&M});
}
template recorded_solve<WHILST_NUMBER> distributed_conjugate_gradient_with_parts(
    const solve_request<WHILST_NUMBER>&, const distributed_setup&, const preconditioner_of_group<WHILST_NUMBER>&);

}  // namespace whilst
