#pragma once

#include "whilst/linear/distributed/distributed_operator.hpp"
#include "whilst/linear/linear_operator.hpp"

namespace whilst {

/// A distributed operator with its transpose, for methods that multiply with both. Each has a halo of its own.
template <class T, class Rows>
struct distributed_with_transpose : distributed_operator<T, Rows> {
  distributed_operator<T, Rows> of_transpose;

  distributed_with_transpose(const distributed_operator<T, Rows>& A, const distributed_operator<T, Rows>& of_transpose)
      : distributed_operator<T, Rows>(A), of_transpose(of_transpose) {}
  distributed_with_transpose with_memory(workspace&) const { return *this; }
  template <class Run>
  void prepare(Run&) const {}
  WHILST_HD const distributed_operator<T, Rows>& transposed() const { return of_transpose; }
};

}  // namespace whilst
