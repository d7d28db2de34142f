// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/stationary/stationary_iteration.hpp"

namespace whilst {

template <class T, class Operator, class Preconditioner>
struct chebyshev : stationary_iteration<T, Operator, Preconditioner, true> {
  static constexpr const char* name = "chebyshev";
  using stationary_iteration<T, Operator, Preconditioner, true>::stationary_iteration;
};

template <class T>
linear_method<T> chebyshev_method() {
  return listed<chebyshev, T>(record_solve<chebyshev, T>);
}
template linear_method<WHILST_NUMBER> chebyshev_method();

}  // namespace whilst
