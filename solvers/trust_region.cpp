// compiled by nvcc where CUDA is on
#include "solvers/trust_region.hpp"

#include "solvers/recorded_descent.hpp"

namespace whilst {

template <class T>
recorded_descent<T> record_trust_region(const descent_request<T>& request) {
  return record_descent<T, trust_region>(request);
}
template recorded_descent<float> record_trust_region(const descent_request<float>&);
template recorded_descent<double> record_trust_region(const descent_request<double>&);

}  // namespace whilst
