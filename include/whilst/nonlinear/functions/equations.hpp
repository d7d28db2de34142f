#pragma once

#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// A square matrix in compressed sparse row form, on a place; borrowed from its equations.
template <class T>
struct jacobian_view {
  index_type n = 0, nonzeros = 0;
  const std::int32_t *row_offsets = nullptr, *column_indices = nullptr;
  /// Entry (i, j) is the derivative of F_i by x_j.
  T* values = nullptr;
};

/// A system F(x) = 0 of n equations in n unknowns, as methods record it: an interface, so that methods and problems are
/// compiled apart. assembled_equations is the usual one; called_equations is for those who have kernels of their own.
/// What evaluations leave is in memory of the system's: solvers that run at once need systems of their own.
template <class T>
class equations {
 public:
  virtual ~equations() = default;
  virtual place where() const = 0;
  /// As many as there are equations.
  virtual index_type unknowns() const = 0;
  /// Takes the memory that evaluate's steps work on, which cannot be taken in a body: to be called before one is
  /// recorded that has them.
  virtual void prepare() const {}
  /// Records the steps that evaluate F at x, and tells where its n entries are then.
  virtual gathered<T> evaluate(recorder& run, const T* x) const = 0;

  virtual bool has_jacobian() const { return false; }
  /// The Jacobian's pattern, and where make_jacobian's steps put its values. Takes memory the first time, so it is to
  /// be asked before a body is recorded.
  virtual jacobian_view<T> jacobian() const { return {}; }
  /// Records the steps that make the Jacobian at x, if *wanted is not 0 when they run.
  virtual void make_jacobian([[maybe_unused]] recorder& run, [[maybe_unused]] const T* x,
                             [[maybe_unused]] const int* wanted) const {}
};

}  // namespace whilst
