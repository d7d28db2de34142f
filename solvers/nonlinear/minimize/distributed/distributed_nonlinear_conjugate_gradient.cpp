// compiled by nvcc where CUDA is on
#include "solvers/nonlinear/minimize/distributed/objective_of_group.hpp"
#include "whilst/nonlinear/minimize/gradient_descent.hpp"
#include "whilst/nonlinear/minimize/nonlinear_conjugate_gradient.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_distributed_conjugate_gradient_pr(const descent_of_group<T>& request) {
  return record_descent<T, conjugate_gradient_pr>(request);
}
template recorded_descent<float> record_distributed_conjugate_gradient_pr(const descent_of_group<float>&);
template recorded_descent<double> record_distributed_conjugate_gradient_pr(const descent_of_group<double>&);

template <class T>
recorded_descent<T> record_distributed_conjugate_gradient_hz(const descent_of_group<T>& request) {
  return record_descent<T, conjugate_gradient_hz>(request);
}
template recorded_descent<float> record_distributed_conjugate_gradient_hz(const descent_of_group<float>&);
template recorded_descent<double> record_distributed_conjugate_gradient_hz(const descent_of_group<double>&);

template <class T>
recorded_descent<T> record_distributed_gradient_descent(const descent_of_group<T>& request) {
  return record_descent<T, gradient_descent>(request);
}
template recorded_descent<float> record_distributed_gradient_descent(const descent_of_group<float>&);
template recorded_descent<double> record_distributed_gradient_descent(const descent_of_group<double>&);

}  // namespace whilst
