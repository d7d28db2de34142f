// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/columns/record_columns_with.hpp"

namespace whilst {

template recorded_solve<WHILST_NUMBER> record_columns_with<WHILST_NUMBER, std::int64_t>(
    const solve_request<WHILST_NUMBER>& request);

}  // namespace whilst
