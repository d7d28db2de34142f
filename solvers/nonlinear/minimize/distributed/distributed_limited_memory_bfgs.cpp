// compiled by nvcc where CUDA is on
#include "solvers/nonlinear/minimize/distributed/objective_of_group.hpp"
#include "whilst/nonlinear/minimize/limited_memory_bfgs.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_distributed_limited_memory_bfgs(const descent_of_group<T>& request) {
  return record_descent<T, limited_memory_bfgs>(request);
}
template recorded_descent<float> record_distributed_limited_memory_bfgs(const descent_of_group<float>&);
template recorded_descent<double> record_distributed_limited_memory_bfgs(const descent_of_group<double>&);

}  // namespace whilst
