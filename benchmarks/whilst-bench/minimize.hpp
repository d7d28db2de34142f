#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst_bench {

struct minimize_options {
  /// A name from whilst::test_problems(), of a scalable problem.
  std::string function = "extended-rosenbrock";
  std::vector<whilst::index_type> sizes{1000, 10'000, 100'000};
  std::string method = "lbfgs";
  std::string line_search = "strong-wolfe";
  /// The executors to run, out of host, stream and graph; empty for all that the machine has.
  std::vector<std::string> executors;
  /// ||g||_2 at which to stop. The least eigenvalue of the Hessian of Rosenbrock's function at its minimum is 0.399, so
  /// every unknown is accurate to about 2.5 times this, however many there are: to 2.5e-9.
  double gradient_tolerance = 1e-9;
  whilst::index_type max_iterations = 10'000;
  /// Evaluations per trip of the graph; 0 chooses.
  int unroll = 0;
  /// Timed solves, after one warm-up.
  int repetitions = 5;
  /// Where to write results as JSON; empty for nowhere, - for standard output.
  std::string json;
};

/// Minimizes a function of many unknowns from its standard starting point, at each size with each executor, and prints
/// how long it took. Returns the exit status: 0 if all converged, no unknown is off by more than 1e-8 where the
/// minimizer is known, and stream and graph agree to the bit; otherwise 2. Throws whilst::error on options out of
/// range.
int run_minimize(const minimize_options& options);

}  // namespace whilst_bench
