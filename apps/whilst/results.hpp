#pragma once

#include <cstdio>
#include <string>

#include "apps/common/json_file.hpp"
#include "apps/common/output_file.hpp"
#include "command.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/report.hpp"

namespace whilst::command {

/// Where the results of a solve or comparison go. Constructed before any work, so that an unwritable path costs nobody
/// a solve.
struct result_files {
  /// Throws whilst::error if a path cannot be written, and if one would overwrite another or an input.
  explicit result_files(const solve_options& options);

  output_file output, history, plot;
  json_destination report;
};

/// rtol, or what atol implies for this right-hand side: the target for the relative residual.
double relative_tolerance(const solve_options& options, double rhs_norm);

/// "iteration 7, relative residual 3.2e-05"; the residual's norm itself if rhs_norm is 0.
std::string progress_line(const progress& now, double rhs_norm);

/// A row a record: iteration, residual norm, and that over rhs_norm().
void print_history(std::FILE* out, const report& result);

}  // namespace whilst::command
