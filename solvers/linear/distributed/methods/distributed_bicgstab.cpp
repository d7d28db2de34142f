// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/bicgstab.hpp"

#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

template <class T>
distributed_method<T> distributed_bicgstab() {
  return listed_for_groups<bicgstab, T>();
}
template distributed_method<WHILST_NUMBER> distributed_bicgstab();

}  // namespace whilst
