// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/around_method.hpp"

namespace whilst {

template <class T>
using composed_base = around_method<T, composed_operator<T>, detail::any_method>;

template <class T>
void composed_around_method<T>::bring_in(recorder& run) const {
  composed_base<T>::bring_in(run);
}
template <class T>
void composed_around_method<T>::judge_start(recorder& run, bool is_scaled) const {
  composed_base<T>::judge_start(run, is_scaled);
}
template <class T>
void composed_around_method<T>::begin_correction(recorder& run) const {
  composed_base<T>::begin_correction(run);
}
template <class T>
void composed_around_method<T>::add_correction(recorder& run, bool lowers_error) const {
  composed_base<T>::add_correction(run, lowers_error);
}
template <class T>
void composed_around_method<T>::hand_back(recorder& run, bool lowers_error) const {
  composed_base<T>::hand_back(run, lowers_error);
}

template struct composed_around_method<WHILST_NUMBER>;

}  // namespace whilst
