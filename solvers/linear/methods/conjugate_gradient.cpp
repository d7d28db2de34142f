// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/conjugate_gradient.hpp"

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
linear_method<T> conjugate_gradient_method() {
  return listed<conjugate_gradient, T>(record_solve_with_matrix<conjugate_gradient, T>);
}
template linear_method<WHILST_NUMBER> conjugate_gradient_method();

}  // namespace whilst
