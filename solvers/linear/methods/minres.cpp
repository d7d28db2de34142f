// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/minres.hpp"

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
linear_method<T> minres_method() {
  return listed<minres, T>(record_solve_with_slices<minres, T>);
}
template linear_method<WHILST_NUMBER> minres_method();

}  // namespace whilst
