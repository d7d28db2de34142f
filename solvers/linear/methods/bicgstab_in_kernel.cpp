// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/bicgstab.hpp"
#include "whilst/linear/record_in_kernel.hpp"

namespace whilst {

template recorded_solve<WHILST_NUMBER> record_in_kernel<bicgstab>(const solve_request<WHILST_NUMBER>&);

}  // namespace whilst
