// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/bfgs.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_bfgs(const descent_request<T>& request) {
  return record_descent<T, bfgs>(request);
}
template recorded_descent<float> record_bfgs(const descent_request<float>&);
template recorded_descent<double> record_bfgs(const descent_request<double>&);

}  // namespace whilst
