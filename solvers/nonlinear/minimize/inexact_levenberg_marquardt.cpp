// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/inexact_levenberg_marquardt.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
using assembled_inexact_levenberg_marquardt = inexact_levenberg_marquardt<T, assembled_hessian>;
template <class T>
using matrix_free_inexact_levenberg_marquardt = inexact_levenberg_marquardt<T, matrix_free_hessian>;

template <class T>
recorded_descent<T> record_inexact_levenberg_marquardt(const descent_request<T>& request) {
  return request.matrix_free ? record_descent<T, matrix_free_inexact_levenberg_marquardt>(request)
                             : record_descent<T, assembled_inexact_levenberg_marquardt>(request);
}
template recorded_descent<float> record_inexact_levenberg_marquardt(const descent_request<float>&);
template recorded_descent<double> record_inexact_levenberg_marquardt(const descent_request<double>&);

}  // namespace whilst
