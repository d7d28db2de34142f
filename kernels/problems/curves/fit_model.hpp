#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/host/report.hpp"
#include "whilst/least_squares/least_squares_tolerances.hpp"

namespace whilst::fitting {

struct fit_settings {
  std::string executor = "auto";
  index_type max_iterations = 10'000;
  int threads = 0;  ///< on the host, 0 chooses
  least_squares_tolerances tolerances = {};
  /// Bounds of the parameters, as in least_squares_options.
  std::vector<double> lower = {}, upper = {};
};

/// The result of a fit.
struct fit_outcome {
  /// The start itself if the model is not finite there.
  std::vector<double> parameters;
  /// One per parameter, or empty if the data cannot tell: too few points, or indistinguishable parameters.
  std::vector<double> standard_errors;
  /// At the parameters; NaN if the model is not finite at the start.
  double sum_of_squares = 0;
  /// How many trial points were accepted.
  index_type accepted = 0;
  report summary;
};

/// Fits the model of this name, one of kernels/problems/curves/curve_models.hpp, to points. predictors: as many numbers
/// per point as the model has, point by point; response: one per point, as the model gives it.
fit_outcome fit_model(std::string_view model, std::span<const double> predictors, std::span<const double> response,
                      std::vector<double> start, const fit_settings& settings);

}  // namespace whilst::fitting
