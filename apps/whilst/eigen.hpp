#pragma once

#include "command.hpp"
#include "whilst/eigenvalue_solver.hpp"

namespace whilst::command {

/// The options of eigen, as given; names and ranges are checked.
struct eigen_options {
  /// The matrix, the precision and where results go; its own solver's settings count for nothing.
  solve_options about;
  eigenvalue_options solver;
  bool largest = false;
};

/// Returns an exit_status and throws whilst::error.
int run_eigen(const eigen_options& options);

}  // namespace whilst::command
