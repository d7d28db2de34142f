// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/limited_memory_bfgs.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_limited_memory_bfgs(const descent_request<T>& request) {
  return record_descent<T, limited_memory_bfgs>(request);
}
template recorded_descent<float> record_limited_memory_bfgs(const descent_request<float>&);
template recorded_descent<double> record_limited_memory_bfgs(const descent_request<double>&);

}  // namespace whilst
