// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/minimize/dogleg.hpp"

#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

template <class T>
using assembled_dogleg = dogleg<T, assembled_hessian>;
template <class T>
using matrix_free_dogleg = dogleg<T, matrix_free_hessian>;

template <class T>
recorded_descent<T> record_dogleg(const descent_request<T>& request) {
  return request.matrix_free ? record_descent<T, matrix_free_dogleg>(request)
                             : record_descent<T, assembled_dogleg>(request);
}
template recorded_descent<float> record_dogleg(const descent_request<float>&);
template recorded_descent<double> record_dogleg(const descent_request<double>&);

}  // namespace whilst
