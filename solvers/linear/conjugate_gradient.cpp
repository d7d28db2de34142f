// compiled by nvcc where CUDA is on
#include "whilst/linear/conjugate_gradient.hpp"

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
recorded_solve<T> record_conjugate_gradient(const solve_request<T>& request) {
  return record_solve<conjugate_gradient>(request);
}
template recorded_solve<float> record_conjugate_gradient(const solve_request<float>&);
template recorded_solve<double> record_conjugate_gradient(const solve_request<double>&);

}  // namespace whilst
