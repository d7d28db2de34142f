#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/minimizer_batch.hpp"

namespace whilst_bench {

struct minimizations_options {
  whilst::index_type problems = 1'000'000;
  /// Per problem: 2 and 3 are one term; other even numbers are sums over pairs.
  whilst::index_type unknowns = 2;
  /// As in minimizer_batch_options.
  std::string method = "bfgs", line_search = "strong-wolfe";
  std::string executor = "auto";
  int lanes = 0;
  /// "double" or "float".
  std::string precision = "double";
  /// ||g|| at which to stop; negative for 1e-8, or 1e-3 in float.
  double tolerance = -1;
  /// Timed launches, after one warm-up.
  int repetitions = 7;
  /// Where to write results as JSON; empty for nowhere, - for standard output.
  std::string json;
};

struct minimizations_result {
  whilst::minimizer_batch_report report;
  /// Per repetition: by the device's clock; and by the host's, from x in host memory to x and outcomes there.
  std::vector<double> launch_seconds, call_seconds;
  double tolerance = 0;
  /// The largest |x_j - 1| over those that converged.
  double largest_error = 0;
};

/// Minimizes Rosenbrock's function from many starting points, the same on every machine, in one launch, several times;
/// prints minimizations per second and how they ended. Returns the exit status: 0 if all converged, otherwise 2. Throws
/// whilst::error on options out of range.
int run_minimizations(const minimizations_options& options);

/// Prints what run_minimizations() found and writes the JSON if requested; returns the exit status.
int report_minimizations(const minimizations_result& result, const minimizations_options& options);

}  // namespace whilst_bench
