#pragma once

#include "bundled.hpp"
#include "whilst/nonlinear_solver.hpp"

namespace whilst::command {

/// The options of equations, as given; names and ranges are checked.
struct equations_options : bundled_options {
  nonlinear_solver_options solver;
  /// If given, which not every method allows; otherwise 0.
  index_type max_inner_iterations = 0;
  int depth = 0;
  double mixing = 0;
};

/// Returns an exit_status and throws whilst::error.
int run_equations(const equations_options& options);

}  // namespace whilst::command
