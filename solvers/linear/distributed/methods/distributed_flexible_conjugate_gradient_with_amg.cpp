// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/distributed/amg_of_group.hpp"
#include "whilst/linear/methods/flexible_conjugate_gradient.hpp"

namespace whilst {

template <class T>
recorded_solve<T> distributed_flexible_conjugate_gradient_with_amg(const solve_request<T>& request,
                                                                   const distributed_setup& setup,
                                                                   const chebyshev_settings& smoother,
                                                                   constant_slot<const T> values,
                                                                   const coarse_steps<T>& coarse) {
  return record_distributed_with_amg<flexible_conjugate_gradient, T>(request, setup, smoother, values, coarse);
}
template recorded_solve<WHILST_NUMBER> distributed_flexible_conjugate_gradient_with_amg(
    const solve_request<WHILST_NUMBER>&, const distributed_setup&, const chebyshev_settings&,
    constant_slot<const WHILST_NUMBER>, const coarse_steps<WHILST_NUMBER>&);

}  // namespace whilst
