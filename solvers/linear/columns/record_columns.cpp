#include "solvers/linear/columns/record_columns.hpp"

namespace whilst {

template <class T>
recorded_solve<T> record_columns(const solve_request<T>& request) {
  return request.offsets_64 ? record_columns_with<T, std::int64_t>(request)
                            : record_columns_with<T, std::int32_t>(request);
}
template recorded_solve<float> record_columns(const solve_request<float>& request);
template recorded_solve<double> record_columns(const solve_request<double>& request);

}  // namespace whilst
