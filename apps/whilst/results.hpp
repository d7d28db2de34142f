#pragma once

#include <string>
#include <vector>

#include "command.hpp"
#include "output_file.hpp"
#include "report_json.hpp"

namespace whilst::command {

/// Where the results of a solve or comparison go. Made before any work is done, so that a path that cannot be written
/// costs nobody a solve.
struct result_files {
  /// Throws whilst::error where a path cannot be written, and where one would overwrite another or an input.
  explicit result_files(const solve_options& options);

  output_file output, history, plot;
  json_destination report;
};

/// The text of a history file: "iteration,residual_norm" and a line for each record.
std::string history_csv(const std::vector<history_record>& history);

/// rtol, or what atol makes of it for this right-hand side: what the relative residual must reach.
double relative_tolerance(const solve_options& options, double rhs_norm);

}  // namespace whilst::command
