// compiled by nvcc where CUDA is on
#include "fit_copies.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "kernels/problems/curves/curve_models.hpp"

namespace whilst::fitting {
namespace {

/// Responses of all copies: copy by copy, or, if a GPU fits each in one thread, point by point.
struct made_copies {
  index_type point_stride, copy_stride;
  std::vector<double> responses;

  template <class Model>
  made_copies(const Model& curve, std::span<const double> predictors, const std::vector<double>& parameters,
              double noise, index_type copies, bool by_point) {
    const index_type points = static_cast<index_type>(predictors.size()) / Model::variables;
    point_stride = by_point ? copies : 1;
    copy_stride = by_point ? 1 : points;
    responses.resize(static_cast<std::size_t>(points * copies));
    std::vector<double> exact;
    for (index_type i = 0; i < points; ++i)
      exact.push_back(curve(parameters.data(), predictors.data() + i * Model::variables));
    std::mt19937_64 generator(1);
    std::normal_distribution<double> normal(0, noise);
    for (index_type k = 0; k < copies; ++k)
      for (index_type i = 0; i < points; ++i)
        responses[static_cast<std::size_t>(i * point_stride + k * copy_stride)] =
            exact[static_cast<std::size_t>(i)] + normal(generator);
  }
};

/// Fills in mean and deviation; x holds each copy's parameters.
void summarise(copies_outcome& outcome, const std::vector<double>& x, const std::vector<double>& around) {
  const auto converged = static_cast<double>(outcome.report.number_converged());
  for (std::size_t j = 0; j < around.size(); ++j) {
    // About a nearby number, so that the difference of the sums keeps its digits.
    double sum = 0, squares = 0;
    for (index_type k = 0; k < outcome.report.size(); ++k) {
      if (!outcome.report[k].converged()) continue;
      const double off = x[static_cast<std::size_t>(k) * around.size() + j] - around[j];
      sum += off;
      squares += off * off;
    }
    const double mean = converged > 0 ? sum / converged : std::numeric_limits<double>::quiet_NaN();
    outcome.mean.push_back(around[j] + mean);
    outcome.deviation.push_back(converged > 1 ? std::sqrt(std::max(squares - sum * mean, 0.0) / (converged - 1))
                                              : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

copies_outcome fit_copies(std::string_view model, std::span<const double> predictors,
                          const std::vector<double>& parameters, double noise, index_type copies,
                          const fit_settings& settings) {
  const std::string& executor = settings.executor;
  copies_outcome outcome;
  with_curve_model(model, [&](const auto& known) {
    const curve_model_of_size curve(known);
    using model_type = std::decay_t<decltype(curve)>;
    const index_type points = static_cast<index_type>(predictors.size()) / model_type::variables;
    const bool by_point = executor != "host" && lanes_for_fits(points, copies) == 1;
    const made_copies data(curve, predictors, parameters, noise, copies, by_point);
    using residuals = curve_residuals_of_many<double, model_type>;
    buffer<double> predictors_there, responses_there;
    const auto on_place = [&](place where) {
      predictors_there = buffer<double>(where, static_cast<index_type>(predictors.size()));
      responses_there = buffer<double>(where, points * copies);
      predictors_there.upload(predictors.data());
      responses_there.upload(data.responses.data());
      return residuals{curve,           points, predictors_there.data(), responses_there.data(), data.point_stride,
                       data.copy_stride};
    };
    least_squares_batch_options options;
    options.executor = executor == "host" || executor == "auto" ? executor : "batch";
    options.threads = settings.threads;
    options.lower = settings.lower;
    options.upper = settings.upper;
    least_squares_batch<double, residuals> batch(on_place, copies, options);
    std::vector<double> x;
    x.reserve(parameters.size() * static_cast<std::size_t>(copies));
    for (index_type k = 0; k < copies; ++k) x.insert(x.end(), parameters.begin(), parameters.end());
    outcome.report = batch.solve(x);
    summarise(outcome, x, parameters);
  });
  return outcome;
}

}  // namespace whilst::fitting
