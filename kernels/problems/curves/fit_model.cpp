// compiled by nvcc where CUDA is on
#include "kernels/problems/curves/fit_model.hpp"

#include <limits>

#include "kernels/problems/curves/curve_models.hpp"
#include "whilst/least_squares/least_squares.hpp"

namespace whilst::fitting {

fit_outcome fit_model(std::string_view model, std::span<const double> predictors, std::span<const double> response,
                      std::vector<double> start, const fit_settings& settings) {
  fit_outcome outcome;
  outcome.parameters = std::move(start);
  with_curve_model(model, [&](const auto& known) {
    const curve_model_of_size curve(known);
    least_squares_options options;
    options.executor = settings.executor;
    options.max_iterations = settings.max_iterations;
    options.threads = settings.threads;
    options.tolerances = settings.tolerances;
    options.lower = settings.lower;
    options.upper = settings.upper;
    curve_fit<double, std::decay_t<decltype(curve)>> solver(curve, predictors, response, options);
    const least_squares_report report = solver.solve(outcome.parameters);
    outcome.standard_errors = report.standard_errors();
    const bool nothing_known = report.reason() == reason::nan_or_infinity && report.accepted == 0;
    outcome.sum_of_squares = nothing_known ? std::numeric_limits<double>::quiet_NaN() : 2 * report.value;
    outcome.accepted = report.accepted;
    outcome.summary = report;
  });
  return outcome;
}

}  // namespace whilst::fitting
