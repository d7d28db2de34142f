#include "whilst/called_objective.hpp"

namespace whilst {

template <class T>
called_objective<T>::called_objective(place where, index unknowns, callback evaluate)
    : where_(where), n_(unknowns), evaluate_(std::move(evaluate)) {
  const std::string doing = "making a function of a callback";
  if (n_ < 1) throw error(doing, "it has " + std::to_string(n_) + " unknowns", "Give it 1 or more");
  if (!evaluate_) throw error(doing, "the callback is empty", "Give one that writes the value and the gradient");
  value_ = buffer<double>(where_, 1);
  gradient_ = buffer<T>(where_, n_);
}

template <class T>
evaluated<T> called_objective<T>::evaluate(recorder& run, const T* x) const {
  run.call("f and g",
           [call = evaluate_, n = n_, x, value = value_.data(), g = gradient_.data()](CUstream_st* stream) {
             call(stream, n, x, value, g);
           },
           {.scratch_only = true});
  return {value_.data(), 1, {gradient_.data()}};
}

template class called_objective<float>;
template class called_objective<double>;

}  // namespace whilst
