#pragma once

#include <array>
#include <vector>

#include "benchmarks/whilst-bench/fits.hpp"
#include "whilst/least_squares_batch.hpp"

namespace whilst_bench {

/// The fitted values of a parameter, divided by the truth, minus 1: mean and deviation over the fits that converged.
struct fits_spread {
  double mean = 0, deviation = 0;
};

struct fits_result {
  whilst::least_squares_batch_report report;
  whilst::least_squares_tolerances tolerances;
  /// Per repetition: by the device's clock; and by the host's, from x in host memory to x and outcomes there.
  std::vector<double> launch_seconds, call_seconds;
  std::array<fits_spread, 3> spreads;
};

/// Prints what run_fits() found and writes the JSON if requested; returns the exit status.
int report_fits(const fits_result& result, const fits_options& options);

}  // namespace whilst_bench
