// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/gmres.hpp"

#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

template <class T>
distributed_method<T> distributed_gmres() {
  return listed_for_groups<gmres, T>();
}
template distributed_method<WHILST_NUMBER> distributed_gmres();

}  // namespace whilst
