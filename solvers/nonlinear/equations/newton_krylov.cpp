// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/equations/newton_krylov.hpp"

#include "solvers/nonlinear/equations/recorded_equations.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_newton_krylov(const equations_request<T>& request) {
  return record_descent<T, newton_krylov>(request);
}
template recorded_descent<float> record_newton_krylov(const equations_request<float>&);
template recorded_descent<double> record_newton_krylov(const equations_request<double>&);

}  // namespace whilst
