#include "curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "kernels/problems/curves/curve_models.hpp"
#include "whilst/error.hpp"

namespace whilst::fitting {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  const auto same = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace

model_description find_model(const std::string& name) {
  std::string known;
  for (const curve_model_entry& entry : curve_model_list()) {
    if (same_name(entry.name, name)) {
      return {std::string(entry.name), std::string(entry.formula), entry.parameters, entry.variables};
    }
    known.append(known.empty() ? "" : ", ").append(entry.name);
  }
  throw error("there is no model \"" + name + "\"", "give one of " + known, "fit --models says what they are");
}

std::string model_table() {
  std::string table = fmt::format("{:<17} {:>10} {:>10}  {}\n", "model", "parameters", "predictors", "formula");
  for (const curve_model_entry& entry : curve_model_list()) {
    fmt::format_to(std::back_inserter(table), "{:<17} {:>10} {:>10}  {}\n", entry.name, entry.parameters,
                   entry.variables, entry.formula);
  }
  return table;
}

std::vector<double> evaluate(std::string_view model, std::span<const double> b, std::span<const double> predictors) {
  std::vector<double> values;
  with_curve_model(model, [&](const auto& curve) {
    const auto variables = static_cast<std::size_t>(curve.variables);
    for (std::size_t i = 0; i + variables <= predictors.size(); i += variables) {
      values.push_back(curve(b.data(), predictors.data() + i));
    }
  });
  return values;
}

std::vector<double> model_response(std::string_view model, std::span<const double> observed) {
  std::vector<double> values(observed.begin(), observed.end());
  with_curve_model(model, [&](const auto& curve) {
    for (double& y : values) y = curve_response(curve, y);
  });
  return values;
}

}  // namespace whilst::fitting
