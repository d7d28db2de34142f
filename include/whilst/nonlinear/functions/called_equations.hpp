#pragma once

#include <functional>

#include "whilst/host/replayed_solver.hpp"
#include "whilst/nonlinear/functions/equations.hpp"

namespace whilst {

/// A system whose F your own code computes: existing kernels, or a library. It has no Jacobian, so "broyden" and
/// "anderson" solve it.
template <class T>
class called_equations final : public equations<T> {
 public:
  /// Enqueues on `stream` the work that writes F(x), n entries, to `residual`. Pointers are of the system's place; on
  /// the host the stream is null. Under "graph" it is called only while recording, a few times, and must do nothing
  /// that a capture forbids; under "host" and "stream", once per evaluation. It may write nothing else that is read
  /// after the loop has stopped.
  using callback = std::function<void(stream_handle stream, index_type n, const T* x, T* residual)>;

  /// Throws whilst::error if there are no unknowns or no callback.
  called_equations(place where, index_type unknowns, callback evaluate);

  place where() const override { return where_; }
  index_type unknowns() const override { return n_; }
  gathered<T> evaluate(recorder& run, const T* x) const override;

 private:
  place where_;
  index_type n_;
  callback evaluate_;
  buffer<T> residual_;
};

extern template class called_equations<float>;
extern template class called_equations<double>;

}  // namespace whilst
