#include "fit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "apps/common/json_file.hpp"
#include "apps/common/output_file.hpp"
#include "apps/common/program.hpp"
#include "picture.hpp"
#include "result_text.hpp"
#include "whilst/error.hpp"

namespace whilst::fitting {
namespace {

using command::json_destination;
using command::output_file;

/// The model, checked against the columns.
model_description choose_model(const fit_options& options, const data_set& data) {
  if (options.model.empty() && !data.certified) {
    throw error("fitting " + options.file, "no model is given", "Give one by --model; fit --models lists them");
  }
  model_description model = find_model(options.model.empty() ? data.certified->name : options.model);
  if (model.variables != data.variables) {
    throw error("fitting " + options.file,
                fmt::format("the model {} has {} predictor{} and the file {}, in {} columns", model.name,
                            model.variables, model.variables == 1 ? "" : "s", data.variables, data.variables + 1),
                "Give the columns of the predictors and then that of the response");
  }
  return model;
}

void choose_start(const fit_options& options, fit_result& result) {
  const auto wanted = static_cast<std::size_t>(result.model.parameters);
  if (!options.start.empty()) {
    if (options.start.size() != wanted) {
      throw error("--start",
                  fmt::format("{} numbers are given, and {} has {} parameters: {}", options.start.size(),
                              result.model.name, wanted, result.model.formula),
                  "Give as many");
    }
    result.start = options.start;
    result.start_source = "as given";
  } else if (const strd_file* certified = result.certified()) {
    result.start = options.start_1 ? certified->start_1 : certified->start_2;
    result.start_source = options.start_1 ? "the file's start 1" : "the file's start 2";
  } else if (options.start_1 || options.start_2) {
    throw error(options.start_1 ? "--start-1" : "--start-2", "the file has no start for " + result.model.name,
                "Give one by --start");
  } else {
    result.start.assign(wanted, 1.0);
    result.start_source = "ones, as no --start is given";
  }
}

void require_finite(const fit_result& result) {
  for (std::size_t i = 0; i < result.response.size(); ++i) {
    if (std::isfinite(result.response[i])) continue;
    throw error("fitting " + result.data.path,
                fmt::format("the model is of a transform of the response that point {}, {:g}, does not have", i + 1,
                            result.data.response[i]),
                "Leave such points out, or give another --model");
  }
}

/// The library's requirements, in the words of the command line, and before anything is printed.
void require_bounds(const fit_settings& settings, const fit_result& result) {
  for (const auto& [option, bounds] : {std::pair("--lower", &settings.lower), {"--upper", &settings.upper}}) {
    if (!bounds->empty() && bounds->size() != result.start.size())
      throw error(option,
                  fmt::format("{} numbers are given, and {} has {} parameters: {}", bounds->size(), result.model.name,
                              result.start.size(), result.model.formula),
                  "Give as many, inf or -inf for none");
  }
  for (std::size_t j = 0; j < result.start.size(); ++j) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double lower = settings.lower.empty() ? -infinite : settings.lower[j];
    const double upper = settings.upper.empty() ? infinite : settings.upper[j];
    if (!(lower <= upper) || lower == infinite || upper == -infinite)
      throw error("--lower, --upper", fmt::format("no b{} is from {:g} to {:g}", j + 1, lower, upper),
                  "Give a lower bound that is no more than the upper one");
    if (result.start[j] < lower || result.start[j] > upper)
      throw error(
          "--start",
          fmt::format("b{} starts at {:g}, and is to be from {:g} to {:g}", j + 1, result.start[j], lower, upper),
          "Start within the bounds");
  }
}

/// Copies need a curve to scatter about, and a deviation.
bool can_be_copied(const fit_result& result) {
  return result.outcome.summary.converged() && std::isfinite(result.residual_deviation());
}

}  // namespace

const strd_file* fit_result::certified() const {
  // The file only covers its own model.
  return data.certified && data.certified->name == model.name ? &*data.certified : nullptr;
}

index_type fit_result::freedom() const { return static_cast<index_type>(response.size()) - model.parameters; }

double fit_result::residual_deviation() const {
  if (freedom() < 1) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(outcome.sum_of_squares / static_cast<double>(freedom()));
}

int run_fit(const fit_options& options) {
  const output_file plot("--plot", options.plot);
  const json_destination json(options.json, {&plot});
  command::require_different_files({{"the data", options.file}}, {&plot, &json.file()});
  std::FILE* out = json.text();

  fit_result result;
  result.data = read_data(options.file);
  result.model = choose_model(options, result.data);
  if (plot.wanted() && result.model.variables != 1) {
    throw error("--plot " + options.plot,
                fmt::format("{} has {} predictors, and a picture shows one", result.model.name, result.model.variables),
                "Leave --plot out");
  }
  choose_start(options, result);
  require_bounds(options.settings, result);
  result.response = model_response(result.model.name, result.data.response);
  require_finite(result);

  print_problem(out, result);
  std::fflush(out);
  result.outcome =
      fit_model(result.model.name, result.data.predictors, result.response, result.start, options.settings);
  print_result(out, result);
  if (options.copies > 0) {
    if (can_be_copied(result)) {
      result.copies = fit_copies(result.model.name, result.data.predictors, result.outcome.parameters,
                                 result.residual_deviation(), options.copies, options.settings);
    }
    print_copies(out, result);
  }
  json.write(result_json(result));
  if (plot.wanted()) plot.write(curve_svg(result));
  return result.outcome.summary.converged() ? command::succeeded : command::not_converged;
}

}  // namespace whilst::fitting
