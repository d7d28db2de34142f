// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/newton.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_newton(const descent_request<T>& request) {
  return record_descent<T, newton>(request);
}
template recorded_descent<float> record_newton(const descent_request<float>&);
template recorded_descent<double> record_newton(const descent_request<double>&);

}  // namespace whilst
