// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/functions/called_objective.hpp"

namespace whilst {
namespace {

template <class T>
struct keep_point {
  const T* x;
  T* point;
  const int* wanted;
  WHILST_HD void operator()(index_type i) const {
    if (*wanted) point[i] = x[i];
  }
};

}  // namespace

template <class T>
called_objective<T>::called_objective(place where, index_type unknowns, callback evaluate, product_callback product,
                                      line_callback along)
    : where_(where),
      n_(unknowns),
      evaluate_(std::move(evaluate)),
      product_(std::move(product)),
      along_(std::move(along)) {
  const std::string doing = "making a function of a callback";
  if (n_ < 1) throw error(doing, "it has " + std::to_string(n_) + " unknowns", "Give it 1 or more");
  if (!evaluate_) throw error(doing, "the callback is empty", "Give one that writes the value and the gradient");
  value_ = buffer<double>(where_, 1);
  gradient_ = buffer<T>(where_, n_);
  if (!product_) return;
  point_ = buffer<T>(where_, n_);
  hessian_times_v_ = buffer<T>(where_, n_);
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

template <class T>
void called_objective<T>::values_along(recorder& run, const T* x, const T* d, const double* lengths,
                                       double* values) const {
  run.call(
      "f along d",
      [call = along_, n = n_, x, d, lengths, values](CUstream_st* stream) { call(stream, n, x, d, lengths, values); },
      {.scratch_only = true});
}

template <class T>
void called_objective<T>::prepare_products(recorder& run, const T* x, const int* wanted, bool) const {
  run.step("keep x for products", n_, keep_point<T>{x, point_.data(), wanted});
}

template <class T>
void called_objective<T>::multiply(recorder& run, const T* v) const {
  run.call("H v",
           [call = product_, n = n_, x = static_cast<const T*>(point_.data()), v,
            Hv = hessian_times_v_.data()](CUstream_st* stream) { call(stream, n, x, v, Hv); },
           {.scratch_only = true});
}

template class called_objective<float>;
template class called_objective<double>;

}  // namespace whilst
