// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/bicgstab.hpp"

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
linear_method<T> bicgstab_method() {
  return listed<bicgstab, T>(record_solve_with_slices<bicgstab, T>);
}
template linear_method<WHILST_NUMBER> bicgstab_method();

}  // namespace whilst
