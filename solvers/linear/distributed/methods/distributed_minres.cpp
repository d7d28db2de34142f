// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/minres.hpp"

#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

template <class T>
distributed_method<T> distributed_minres() {
  return {"minres", record_distributed_matrix<minres, T>};
}
template distributed_method<WHILST_NUMBER> distributed_minres();

}  // namespace whilst
