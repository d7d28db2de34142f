// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/equations/broyden.hpp"

#include "solvers/nonlinear/equations/recorded_equations.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_broyden(const equations_request<T>& request) {
  return record_descent<T, broyden>(request);
}
template recorded_descent<float> record_broyden(const equations_request<float>&);
template recorded_descent<double> record_broyden(const equations_request<double>&);

}  // namespace whilst
