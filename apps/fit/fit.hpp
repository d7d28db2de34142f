#pragma once

#include <optional>
#include <string>
#include <vector>

#include "curve.hpp"
#include "data.hpp"
#include "fit_copies.hpp"
#include "kernels/problems/curves/fit_model.hpp"

/// The program that fits a curve to a file of points.
namespace whilst::fitting {

/// The command line, as given; names and ranges are checked, except the model's.
struct fit_options {
  std::string file;
  /// Empty: the data set's model.
  std::string model;
  /// Empty: chosen by start_1 and by what the file offers.
  std::vector<double> start;
  /// The data set's first start, the far one, or (also the default) its second.
  bool start_1 = false, start_2 = false;
  fit_settings settings;
  /// How many noisy copies of the data to fit as well; 0 for none.
  index_type copies = 0;
  /// Where to write results; empty to skip. json may be "-", standard output.
  std::string json, plot;
};

/// A fit and everything that went into it.
struct fit_result {
  data_set data;
  model_description model;
  /// The data set's response, transformed as the model requires.
  std::vector<double> response;
  std::vector<double> start;
  /// Where the start comes from, in words.
  std::string start_source;
  fit_outcome outcome;
  /// For the noisy copies; none if none were requested, or the fit gives nothing to make them from.
  std::optional<copies_outcome> copies;
  /// The data set's certified values; nullptr if the file has none for this model.
  const strd_file* certified() const;
  /// Points minus parameters.
  index_type freedom() const;
  /// The standard deviation of the residuals; NaN without degrees of freedom.
  double residual_deviation() const;
};

/// Reads, fits, prints and writes. Returns a command::exit_status and throws whilst::error.
int run_fit(const fit_options& options);

}  // namespace whilst::fitting
