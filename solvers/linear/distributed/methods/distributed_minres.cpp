// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/minres.hpp"

#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

template <class T>
distributed_method<T> distributed_minres() {
  return listed_for_groups<minres, T>();
}
template distributed_method<WHILST_NUMBER> distributed_minres();

}  // namespace whilst
