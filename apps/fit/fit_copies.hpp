#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fit_model.hpp"
#include "whilst/least_squares_batch.hpp"

namespace whilst::fitting {

/// What the fits of many copies of the data found.
struct copies_outcome {
  least_squares_batch_report report;
  /// Of each parameter, over the copies whose fit converged: mean and standard deviation.
  std::vector<double> mean, deviation;

  double fits_per_second() const { return static_cast<double>(report.size()) / report.solve_seconds(); }
};

/// Makes copies of data from the curve at `parameters`, each with normal noise of its own of this standard deviation,
/// the same in every run; fits them all in one launch, from these parameters on. model, predictors: as fit_model takes
/// them. Of the settings the bounds and the executor count: "host" for the CPU, "auto" or another one for a GPU where
/// there is one.
copies_outcome fit_copies(std::string_view model, std::span<const double> predictors,
                          const std::vector<double>& parameters, double noise, index_type copies,
                          const fit_settings& settings);

}  // namespace whilst::fitting
