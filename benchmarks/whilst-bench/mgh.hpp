#pragma once

#include <string>

namespace whilst_bench {

struct mgh_options {
  /// Where results go as JSON; empty for nowhere, - for standard output.
  std::string json;
};

/// Minimises the 35 sums of squares of More, Garbow and Hillstrom (1981) by Levenberg-Marquardt on the host, from the
/// standard starting points and from 10 and 100 times them. A problem counts as solved where all its sizes end at a
/// published minimum from the standard start. Returns the exit status: 0 where all are, 2 where not.
int run_mgh(const mgh_options& options);

}  // namespace whilst_bench
