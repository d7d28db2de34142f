// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/nonlinear_conjugate_gradient.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_conjugate_gradient_pr(const descent_request<T>& request) {
  return record_descent<T, conjugate_gradient_pr>(request);
}
template recorded_descent<float> record_conjugate_gradient_pr(const descent_request<float>&);
template recorded_descent<double> record_conjugate_gradient_pr(const descent_request<double>&);

template <class T>
recorded_descent<T> record_conjugate_gradient_hz(const descent_request<T>& request) {
  return record_descent<T, conjugate_gradient_hz>(request);
}
template recorded_descent<float> record_conjugate_gradient_hz(const descent_request<float>&);
template recorded_descent<double> record_conjugate_gradient_hz(const descent_request<double>&);

}  // namespace whilst
