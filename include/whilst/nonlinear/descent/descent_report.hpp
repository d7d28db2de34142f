#pragma once

#include <vector>

#include "whilst/host/report.hpp"
#include "whilst/nonlinear/descent/descent_state.hpp"

namespace whilst {

/// How a minimization or a solve of equations ended.
struct descent_report : report {
  /// Evaluations of the function and its gradient, or of F; rejected trial points included.
  index_type evaluations = 0;
  /// Iterations of the inner loop, for methods that have one.
  index_type inner_iterations = 0;
  /// How often the method's direction led nowhere and it restarted along the negative gradient, or -F.
  index_type restarts = 0;
  /// The history: the same iterations as history(), with more data for each.
  std::vector<descent_record> records = {};
};

}  // namespace whilst
