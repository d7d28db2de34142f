// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/rectangular/around_least_squares.hpp"

namespace whilst {

template <class T>
using composed_least_squares_base = around_least_squares<T, composed_operator<T>, detail::any_method>;

template <class T>
void composed_around_least_squares<T>::bring_in(recorder& run) const {
  composed_least_squares_base<T>::bring_in(run);
}
template <class T>
void composed_around_least_squares<T>::judge_start(recorder& run, bool is_scaled) const {
  composed_least_squares_base<T>::judge_start(run, is_scaled);
}
template <class T>
void composed_around_least_squares<T>::begin_correction(recorder& run) const {
  composed_least_squares_base<T>::begin_correction(run);
}
template <class T>
void composed_around_least_squares<T>::add_correction(recorder& run) const {
  composed_least_squares_base<T>::add_correction(run);
}
template <class T>
void composed_around_least_squares<T>::hand_back(recorder& run) const {
  composed_least_squares_base<T>::hand_back(run);
}

template struct composed_around_least_squares<WHILST_NUMBER>;

}  // namespace whilst
