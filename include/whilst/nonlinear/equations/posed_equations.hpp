#pragma once

#include "whilst/nonlinear/functions/equations.hpp"

namespace whilst {

/// A system as descent_solve takes it, F in the place of a gradient: with the parameters fixed at recording.
template <class T>
struct posed_equations {
  const equations<T>* system = nullptr;
  /// For "anderson": the most differences of points, and the fraction of F to step along.
  int depth = 5;
  double mixing = 1;

  index_type unknowns() const { return system->unknowns(); }
  place where() const { return system->where(); }
  void prepare() const { system->prepare(); }
  evaluated<T> evaluate(recorder& run, const T* x) const { return {.gradient = system->evaluate(run, x)}; }
};

}  // namespace whilst
