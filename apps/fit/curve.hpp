#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace whilst::fitting {

/// A model of kernels/problems/curves/curve_models.hpp, for display and for checks.
struct model_description {
  std::string name, formula;
  int parameters = 0, variables = 0;
};

/// The model of this name, ignoring case. Throws whilst::error with all names if there is none.
model_description find_model(const std::string& name);

/// All models, one per line.
std::string model_table();

/// The model for parameters b at each point: predictors holds as many numbers per point as the model has.
std::vector<double> evaluate(std::string_view model, std::span<const double> b, std::span<const double> predictors);

/// What the model is compared with: the observed response, or its transform if the model is stated for one.
std::vector<double> model_response(std::string_view model, std::span<const double> observed);

}  // namespace whilst::fitting
