#pragma once

#include <optional>
#include <string>
#include <vector>

#include "curve.hpp"
#include "data.hpp"
#include "fit_model.hpp"

/// The program that fits a curve to a file of points.
namespace whilst::fitting {

/// What the program's exit status says.
enum exit_status : int { fitted = 0, failed = 1, not_converged = 2 };

/// The command line, as given; names and ranges have been checked, but for the model's.
struct fit_options {
  std::string file;
  /// Empty: that of the data set.
  std::string model;
  /// Empty: chosen by start_1 and by what the file has.
  std::vector<double> start;
  /// The data set's first start, the far one, or, as without either, its second.
  bool start_1 = false, start_2 = false;
  fit_settings settings;
  /// Where results go; empty for those not wanted. json may be "-", standard output.
  std::string json, plot;
};

/// A fit with all that went into it.
struct fit_result {
  data_set data;
  model_description model;
  /// The data set's response as the model gives it.
  std::vector<double> response;
  std::vector<double> start;
  /// Where it is from, in words.
  std::string start_source;
  fit_outcome outcome;
  /// The data set's certified values; nullptr where the file has none for this model.
  const strd_file* certified() const;
  /// Points less parameters.
  index freedom() const;
  /// The standard deviation of the residuals; NaN without degrees of freedom.
  double residual_deviation() const;
};

/// Reads, fits, prints and writes. Returns an exit_status and throws whilst::error.
int run_fit(const fit_options& options);

}  // namespace whilst::fitting
