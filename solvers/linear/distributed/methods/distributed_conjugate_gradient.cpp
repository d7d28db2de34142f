// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/conjugate_gradient.hpp"

#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

template <class T>
distributed_method<T> distributed_conjugate_gradient() {
  using method = conjugate_gradient<T, composed_operator<T>, composed_preconditioner<T>>;
  return {method::name,
          method::needs,
          true,
          false,
          record_distributed_matrix_or_parts<conjugate_gradient, T>,
          distributed_conjugate_gradient_with_chebyshev<T>,
          distributed_conjugate_gradient_with_amg<T>,
          distributed_conjugate_gradient_with_parts<T>};
}
template distributed_method<WHILST_NUMBER> distributed_conjugate_gradient();

}  // namespace whilst
