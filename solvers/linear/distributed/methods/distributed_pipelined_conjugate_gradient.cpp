// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/pipelined_conjugate_gradient.hpp"

#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

template <class T>
distributed_method<T> distributed_pipelined_conjugate_gradient() {
  return listed_for_groups<pipelined_conjugate_gradient, T>();
}
template distributed_method<WHILST_NUMBER> distributed_pipelined_conjugate_gradient();

}  // namespace whilst
