// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/rectangular/lsqr.hpp"

#include "solvers/linear/rectangular/record_least_squares.hpp"

namespace whilst {

template <class T>
linear_method<T> lsqr_method() {
  return listed_least_squares<lsqr, T, /*fuses_columns=*/true>();
}
template linear_method<WHILST_NUMBER> lsqr_method();

}  // namespace whilst
