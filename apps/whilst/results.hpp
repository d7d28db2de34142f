#pragma once

#include "apps/common/json_file.hpp"
#include "apps/common/output_file.hpp"
#include "command.hpp"

namespace whilst::command {

/// Where the results of a solve or comparison go. Made before any work is done, so that a path that cannot be written
/// costs nobody a solve.
struct result_files {
  /// Throws whilst::error where a path cannot be written, and where one would overwrite another or an input.
  explicit result_files(const solve_options& options);

  output_file output, history, plot;
  json_destination report;
};

/// rtol, or what atol makes of it for this right-hand side: what the relative residual must reach.
double relative_tolerance(const solve_options& options, double rhs_norm);

}  // namespace whilst::command
