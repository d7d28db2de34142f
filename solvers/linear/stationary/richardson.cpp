// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/stationary/stationary_iteration.hpp"

namespace whilst {

template <class T, class Operator, class Preconditioner>
struct richardson : stationary_iteration<T, Operator, Preconditioner, false> {
  static constexpr const char* name = "richardson";
  using stationary_iteration<T, Operator, Preconditioner, false>::stationary_iteration;
};

template <class T>
linear_method<T> richardson_method() {
  return listed<richardson, T>(record_from_parts<richardson, T>);
}
template linear_method<WHILST_NUMBER> richardson_method();

}  // namespace whilst
