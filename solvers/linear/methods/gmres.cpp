// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/gmres.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
linear_method<T> gmres_method() {
  return listed<gmres, T>(record_solve<gmres, T>);
}
template linear_method<WHILST_NUMBER> gmres_method();

}  // namespace whilst
