#pragma once

#include <string>

#include "bundled.hpp"
#include "whilst/minimizer.hpp"

namespace whilst::command {

/// The options of minimize, as given; names and ranges are checked.
struct minimize_options : bundled_options {
  minimizer_options solver;
  /// If given, which not every method allows; otherwise empty or 0.
  std::string hessian, damping;
  double first_damping = 0;
};

/// Returns an exit_status and throws whilst::error.
int run_minimize(const minimize_options& options);

}  // namespace whilst::command
