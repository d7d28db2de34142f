// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/pipelined_conjugate_gradient.hpp"

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
linear_method<T> pipelined_conjugate_gradient_method() {
  return listed<pipelined_conjugate_gradient, T>(record_solve<pipelined_conjugate_gradient, T>);
}
template linear_method<WHILST_NUMBER> pipelined_conjugate_gradient_method();

}  // namespace whilst
