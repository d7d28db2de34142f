#pragma once

#include "whilst/nonlinear/functions/equations.hpp"

namespace whilst {

/// A system as descent_solve takes it, F in the place of a gradient: with what is settled when a method is recorded.
template <class T>
struct posed_equations {
  const equations<T>* system = nullptr;
  /// Of "anderson": most differences of points, and the part of F that is stepped along.
  int depth = 5;
  double mixing = 1;

  index_type unknowns() const { return system->unknowns(); }
  place where() const { return system->where(); }
  void prepare() const { system->prepare(); }
  evaluated<T> evaluate(recorder& run, const T* x) const { return {.gradient = system->evaluate(run, x)}; }
};

}  // namespace whilst
