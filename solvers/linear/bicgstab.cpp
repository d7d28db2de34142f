// compiled by nvcc where CUDA is on
#include "whilst/linear/bicgstab.hpp"

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
recorded_solve<T> record_bicgstab(const solve_request<T>& request) {
  return record_solve<bicgstab>(request);
}
template recorded_solve<float> record_bicgstab(const solve_request<float>&);
template recorded_solve<double> record_bicgstab(const solve_request<double>&);

}  // namespace whilst
