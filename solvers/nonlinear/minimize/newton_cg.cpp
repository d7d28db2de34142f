// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/newton_cg.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_newton_cg(const descent_request<T>& request) {
  if (request.M) return record_descent<T, preconditioned_newton_cg>(request);
  return request.matrix_free ? record_descent<T, matrix_free_newton_cg>(request)
                             : record_descent<T, assembled_newton_cg>(request);
}
template recorded_descent<float> record_newton_cg(const descent_request<float>&);
template recorded_descent<double> record_newton_cg(const descent_request<double>&);

}  // namespace whilst
