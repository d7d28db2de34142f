#include "whilst/nonlinear/functions/called_equations.hpp"

namespace whilst {

template <class T>
called_equations<T>::called_equations(place where, index_type unknowns, callback evaluate)
    : where_(where), n_(unknowns), evaluate_(std::move(evaluate)) {
  const std::string doing = "making equations of a callback";
  if (n_ < 1) throw error(doing, "they have " + std::to_string(n_) + " unknowns", "Give 1 or more");
  if (!evaluate_) throw error(doing, "the callback is empty", "Give one that writes F");
  residual_ = buffer<T>(where_, n_);
}

template <class T>
gathered<T> called_equations<T>::evaluate(recorder& run, const T* x) const {
  run.call(
      "F",
      [call = evaluate_, n = n_, x, residual = residual_.data()](CUstream_st* stream) { call(stream, n, x, residual); },
      {.scratch_only = true});
  return {residual_.data()};
}

template class called_equations<float>;
template class called_equations<double>;

}  // namespace whilst
