// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/trust_region.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
using assembled_trust_region = trust_region<T, assembled_hessian>;
template <class T>
using matrix_free_trust_region = trust_region<T, matrix_free_hessian>;

template <class T>
recorded_descent<T> record_trust_region(const descent_request<T>& request) {
  return request.matrix_free ? record_descent<T, matrix_free_trust_region>(request)
                             : record_descent<T, assembled_trust_region>(request);
}
template recorded_descent<float> record_trust_region(const descent_request<float>&);
template recorded_descent<double> record_trust_region(const descent_request<double>&);

}  // namespace whilst
