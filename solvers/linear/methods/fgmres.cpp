// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/gmres.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

template <class T>
linear_method<T> fgmres_method() {
  return listed<fgmres, T>(record_from_parts<fgmres, T>);
}
template linear_method<WHILST_NUMBER> fgmres_method();

}  // namespace whilst
