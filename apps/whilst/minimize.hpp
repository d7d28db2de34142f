#pragma once

#include <string>

#include "whilst/minimizer.hpp"

namespace whilst::command {

/// The options of minimize, as given; names and ranges have been checked.
struct minimize_options {
  /// List the functions, and do nothing else.
  bool list = false;
  /// "rosenbrock", "extended-rosenbrock:1000".
  std::string function;
  /// What the standard starting point is multiplied by.
  double start_factor = 1;
  minimizer_options solver;
  /// The CUDA device; -1 is the current one.
  int device = -1;
  bool monitor = false;
  /// Where results go; empty for those not wanted. json may be "-", standard output.
  std::string output, json, history, plot;
};

/// Returns an exit_status and throws whilst::error.
int run_minimize(const minimize_options& options);

}  // namespace whilst::command
