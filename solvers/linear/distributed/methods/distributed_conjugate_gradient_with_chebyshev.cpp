// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/distributed/chebyshev_of_group.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"

namespace whilst {

template <class T>
recorded_solve<T> distributed_conjugate_gradient_with_chebyshev(const solve_request<T>& request,
                                                                const distributed_setup& setup,
                                                                const chebyshev_settings& settings,
                                                                constant_slot<const T> values) {
  return record_distributed_with_chebyshev<conjugate_gradient, T>(request, setup, settings, values);
}
template recorded_solve<WHILST_NUMBER> distributed_conjugate_gradient_with_chebyshev(
    const solve_request<WHILST_NUMBER>&, const distributed_setup&, const chebyshev_settings&,
    constant_slot<const WHILST_NUMBER>);

}  // namespace whilst
