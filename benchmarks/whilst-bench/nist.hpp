#pragma once

#include <string>

namespace whilst_bench {

struct nist_options {
  /// The folder with the .dat files.
  std::string data;
  /// As least_squares_options::executor.
  std::string executor = "auto";
  /// Where to write results as JSON; empty for nowhere, - for standard output.
  std::string json;
};

/// Fits all of NIST's StRD sets for nonlinear regression from both starting points, by Levenberg-Marquardt with one
/// setting for all; prints the digits that agree with the certified parameters. Returns the exit status: 0 if all are
/// solved, otherwise 2. Throws whilst::error if the data cannot be read.
int run_nist(const nist_options& options);

}  // namespace whilst_bench
