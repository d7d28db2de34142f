#pragma once

#include <optional>
#include <string>
#include <vector>

#include "curve.hpp"
#include "data.hpp"
#include "fit_copies.hpp"
#include "fit_model.hpp"

/// The program that fits a curve to a file of points.
namespace whilst::fitting {

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
  /// How many noisy copies of the data are to be fitted, too; 0 for none.
  index_type copies = 0;
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
  /// Of the noisy copies; none where none were asked for, or the fit leaves nothing to make them of.
  std::optional<copies_outcome> copies;
  /// The data set's certified values; nullptr where the file has none for this model.
  const strd_file* certified() const;
  /// Points less parameters.
  index_type freedom() const;
  /// The standard deviation of the residuals; NaN without degrees of freedom.
  double residual_deviation() const;
};

/// Reads, fits, prints and writes. Returns a command::exit_status and throws whilst::error.
int run_fit(const fit_options& options);

}  // namespace whilst::fitting
