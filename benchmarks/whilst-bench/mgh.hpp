#pragma once

#include <string>

namespace whilst_bench {

struct mgh_options {
  /// One of mgh_methods() (mgh_runs.hpp), or "all".
  std::string method = "all";
  /// Where to write results as JSON; empty for nowhere, - for standard output.
  std::string json;
};

/// Minimizes the 35 sums of squares of More, Garbow and Hillstrom (1981) on the host, from the standard starting points
/// and from 10 and 100 times them. A problem counts as solved if each of its sizes ends at a published minimum from the
/// standard start, by any of the methods. Returns the exit status: 0 if all are, otherwise 2. Throws whilst::error if
/// there is no such method.
int run_mgh(const mgh_options& options);

}  // namespace whilst_bench
