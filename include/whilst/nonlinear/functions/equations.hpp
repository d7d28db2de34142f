#pragma once

#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// A square matrix in compressed sparse row form, on a place; owned by its equations.
template <class T>
struct jacobian_view {
  index_type n = 0, nonzeros = 0;
  const std::int32_t *row_offsets = nullptr, *column_indices = nullptr;
  /// Entry (i, j) is the derivative of F_i with respect to x_j.
  T* values = nullptr;
};

/// A system F(x) = 0 of n equations in n unknowns, as methods record it: an interface, so that methods and problems
/// compile separately. Usually an assembled_equations; called_equations wraps your own kernels. The system holds the
/// results of its evaluations: solvers that run concurrently need systems of their own.
template <class T>
class equations {
 public:
  virtual ~equations() = default;
  virtual place where() const = 0;
  /// Also the number of equations.
  virtual index_type unknowns() const = 0;
  /// Allocates the memory that evaluate's steps use, which a body cannot allocate: call it before recording a body that
  /// contains them.
  virtual void prepare() const {}
  /// Records the steps that evaluate F at x, and returns where its n entries will be.
  virtual gathered<T> evaluate(recorder& run, const T* x) const = 0;

  virtual bool has_jacobian() const { return false; }
  /// The Jacobian's pattern, and where make_jacobian's steps put its values. Allocates on the first call, so call it
  /// before recording a body.
  virtual jacobian_view<T> jacobian() const { return {}; }
  /// Records the steps that compute the Jacobian at x, if *wanted is not 0 when they run.
  virtual void make_jacobian([[maybe_unused]] recorder& run, [[maybe_unused]] const T* x,
                             [[maybe_unused]] const int* wanted) const {}
};

}  // namespace whilst
