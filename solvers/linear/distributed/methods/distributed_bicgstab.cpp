// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/bicgstab.hpp"

#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

template <class T>
distributed_method<T> distributed_bicgstab() {
  return {"bicgstab", record_distributed_matrix<bicgstab, T>};
}
template distributed_method<WHILST_NUMBER> distributed_bicgstab();

}  // namespace whilst
