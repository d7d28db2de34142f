// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/equations/anderson.hpp"

#include "solvers/nonlinear/equations/recorded_equations.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_anderson(const equations_request<T>& request) {
  return record_descent<T, anderson>(request);
}
template recorded_descent<float> record_anderson(const equations_request<float>&);
template recorded_descent<double> record_anderson(const equations_request<double>&);

}  // namespace whilst
