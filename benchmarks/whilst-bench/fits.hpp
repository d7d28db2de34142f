#pragma once

#include <string>

#include "whilst/basics/index_type.hpp"
#include "whilst/least_squares/least_squares_tolerances.hpp"

namespace whilst_bench {

struct fits_options {
  whilst::index_type problems = 1'000'000;
  /// Per problem.
  whilst::index_type points = 20;
  /// "double" or "float".
  std::string precision = "double";
  /// As in least_squares_batch_options.
  std::string executor = "auto";
  int lanes = 0;
  /// Timed launches, after one warm-up.
  int repetitions = 7;
  /// For the method: see least_squares_tolerances.
  double first_damping = whilst::least_squares_tolerances{}.first_damping;
  /// For gradient and step; negative for the defaults.
  double tolerance = -1;
  /// Where to write results as JSON; empty for nowhere, - for standard output.
  std::string json;
};

/// Makes data from b0 exp(-b1 t) + b2 with noise, the same on every machine; fits all sets in one launch, several
/// times; prints fits per second, how they ended, and how far the parameters are from the truth. Returns the exit
/// status: 0 if all converged, otherwise 2. Throws whilst::error on options out of range.
int run_fits(const fits_options& options);

}  // namespace whilst_bench
