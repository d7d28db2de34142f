#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problems/curves/fit_model.hpp"
#include "whilst/least_squares_batch.hpp"

namespace whilst::fitting {

/// The result of fitting many copies of the data.
struct copies_outcome {
  least_squares_batch_report report;
  /// Per parameter, over the copies whose fit converged: mean and standard deviation.
  std::vector<double> mean, deviation;

  double fits_per_second() const { return static_cast<double>(report.size()) / report.solve_seconds(); }
};

/// Makes copies of the data from the curve at `parameters`, each with its own normal noise of this standard deviation,
/// the same in every run; fits them all in one launch, starting from these parameters. model, predictors: as fit_model
/// takes them. Of the settings only the bounds and the executor count: "host" for the CPU, "auto" or another one for a
/// GPU if there is one.
copies_outcome fit_copies(std::string_view model, std::span<const double> predictors,
                          const std::vector<double>& parameters, double noise, index_type copies,
                          const fit_settings& settings);

}  // namespace whilst::fitting
