#pragma once

#include <functional>

#include "whilst/host/replayed_solver.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// A function whose value and gradient your own code computes: existing kernels, or a library.
template <class T>
class called_objective final : public objective<T> {
 public:
  /// Enqueues on `stream` the work that writes f(x) to *value and the gradient, n entries, to `gradient`. Pointers are
  /// of the function's place; on the host the stream is null. Under "graph" it is called only while recording, a few
  /// times, and must do nothing that a capture forbids; under "host" and "stream", once per evaluation. It may write
  /// nothing else that is read after the loop has stopped.
  using callback = std::function<void(stream_handle stream, index_type n, const T* x, double* value, T* gradient)>;

  /// Enqueues on `stream` the work that writes the product of the Hessian at x with v, n entries, to Hv; for methods
  /// that use it, such as newton-cg; for a sum of squares, the Gauss-Newton matrix. Otherwise as above.
  using product_callback = std::function<void(stream_handle stream, index_type n, const T* x, const T* v, T* Hv)>;

  /// Enqueues on `stream` the work that writes f(x + lengths[k] d) to values[k], for objective<T>::points_of_line
  /// lengths, 8; for the parallel line search. lengths and values are of the function's place, too. Otherwise as above.
  using line_callback = std::function<void(stream_handle stream, index_type n, const T* x, const T* d,
                                           const double* lengths, double* values)>;

  /// Without `product` the function has no Hessian; without `along` it does not support the parallel line search.
  /// Throws whilst::error if there are no unknowns or no callback.
  called_objective(place where, index_type unknowns, callback evaluate, product_callback product = {},
                   line_callback along = {});

  place where() const override { return where_; }
  index_type unknowns() const override { return n_; }
  evaluated<T> evaluate(recorder& run, const T* x) const override;
  bool has_values_along() const override { return static_cast<bool>(along_); }
  void values_along(recorder& run, const T* x, const T* d, const double* lengths, double* values) const override;
  bool has_products() const override { return static_cast<bool>(product_); }
  hessian_products<T> products() const override { return {{hessian_times_v_.data()}, {}}; }
  /// Keeps x if products are to be computed.
  void prepare_products(recorder& run, const T* x, const int* wanted, bool positive) const override;
  void multiply(recorder& run, const T* v) const override;

 private:
  place where_;
  index_type n_;
  callback evaluate_;
  product_callback product_;
  line_callback along_;
  buffer<double> value_;
  buffer<T> gradient_, point_, hessian_times_v_;
};

extern template class called_objective<float>;
extern template class called_objective<double>;

}  // namespace whilst
