#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/least_squares/least_squares_tolerances.hpp"
#include "whilst/report.hpp"

namespace whilst::fitting {

struct fit_settings {
  std::string executor = "auto";
  index_type max_iterations = 10'000;
  int threads = 0;  ///< of the host, 0 to have it chosen
  least_squares_tolerances tolerances = {};
  /// Bounds of the parameters, as least_squares_options has them.
  std::vector<double> lower = {}, upper = {};
};

/// What a fit found.
struct fit_outcome {
  /// The start itself where the model is not finite there.
  std::vector<double> parameters;
  /// One a parameter, or empty where the data do not tell: too few points, or parameters that they cannot tell apart.
  std::vector<double> standard_errors;
  /// At the parameters; NaN where the model is not finite at the start.
  double sum_of_squares = 0;
  /// How many trial points were accepted.
  index_type accepted = 0;
  report summary;
};

/// Fits the model of this name, which must be one of kernels/problems/curves/curve_models.hpp, to points.
/// predictors: as many numbers a point as the model has, point by point; response: one a point, as the model gives it.
fit_outcome fit_model(std::string_view model, std::span<const double> predictors, std::span<const double> response,
                      std::vector<double> start, const fit_settings& settings);

}  // namespace whilst::fitting
