// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/minres.hpp"
#include "whilst/linear/record_in_kernel.hpp"

namespace whilst {

template recorded_solve<WHILST_NUMBER> record_in_kernel<minres>(const solve_request<WHILST_NUMBER>&);

}  // namespace whilst
