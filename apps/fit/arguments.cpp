#include "arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "whilst/version.hpp"

namespace whilst::fitting {
namespace {

template <class Number>
bool parsed(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc() && rest == end;
}

/// "500,0.0001". Throws CLI::ValidationError.
std::vector<double> start_of(const std::string& text) {
  std::vector<double> start;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    double value = 0;
    if (!parsed(std::string_view(text).substr(begin, end - begin), value) || !std::isfinite(value)) {
      throw CLI::ValidationError("--start", fmt::format("\"{}\" will not do; give numbers, as 500,0.0001", text));
    }
    start.push_back(value);
    begin = end + 1;
  }
  return start;
}

std::string not_empty(std::string& text) { return text.empty() ? "is empty; give a path" : ""; }

std::string known_executor(std::string& text) {
  constexpr std::array known{"auto", "host", "stream", "graph", "resident"};
  for (const char* name : known) {
    if (text == name) return {};
  }
  return fmt::format("\"{}\" is not known; give one of {}", text, fmt::join(known, ", "));
}

std::string iteration_count(std::string& text) {
  index value = 0;
  if (parsed(text, value) && value >= 0) return {};
  return fmt::format("\"{}\" will not do; give a whole number of at least 0, as 10000", text);
}

}  // namespace

arguments::arguments() : app("Fits a curve to points by nonlinear least squares, on the GPU or the CPU.", "fit") {
  app.set_version_flag("--version", fmt::format("fit {}", version), "Print the version and leave");
  app.add_option("file", fit.file, "Data set of the NIST StRD, or CSV: predictors, then the response")
      ->option_text("FILE")
      ->check(CLI::Validator(not_empty, ""));
  app.add_option("--model", fit.model, "The curve, by name (default: the data set's own; needed for CSV)")
      ->type_name("NAME");
  app.add_flag("--models", models, "List the models and leave");
  CLI::Option* start = app.add_option_function<std::string>(
                              "--start", [this](const std::string& text) { fit.start = start_of(text); },
                              "The parameters to start at (default: the data set's start 2; for CSV ones)")
                           ->type_name("B1,B2,...");
  CLI::Option* start_1 = app.add_flag("--start-1", fit.start_1, "Start where the data set says first, far off");
  CLI::Option* start_2 = app.add_flag("--start-2", fit.start_2, "Start where it says second, nearer");
  start_1->excludes(start)->excludes(start_2);
  start_2->excludes(start);
  app.add_option("--executor", fit.settings.executor,
                 "What runs the loop: the CPU; kernel launches; one CUDA graph; one kernel (default auto)")
      ->type_name("auto|host|stream|graph|resident")
      ->check(CLI::Validator(known_executor, ""));
  app.add_option("--max-iterations", fit.settings.max_iterations, "Limit of trial points (default 10000)")
      ->type_name("INT")
      ->check(CLI::Validator(iteration_count, ""));
  app.add_option("--json", fit.json, "Write a report; - for standard output, with nothing else on it")
      ->type_name("FILE")
      ->check(CLI::Validator(not_empty, ""));
  app.add_option("--plot", fit.plot, "Write a picture of data, curve and residuals (SVG); for one predictor")
      ->type_name("FILE")
      ->check(CLI::Validator(not_empty, ""));
  app.footer(
      "A CSV file has a column for each predictor and then one for the response, between commas, semicolons, tabs\n"
      "or blanks, under a line of names or none. A file of the NIST StRD, known by its first words, chooses its own\n"
      "model and start, and has certified values to compare with.\n"
      "Standard errors are those of the linearised model at the solution.\n"
      "Files are written whole or not at all, and paths are tried before the fit starts.\n\n"
      "Examples:\n"
      "  fit Misra1a.dat --start-1                    NIST's data, from far off\n"
      "  fit decay.csv --model exponential --start 100,0.5,0 --plot decay.svg\n"
      "  fit points.csv --model line --json - | jq .parameters\n"
      "  fit --models                                 the curves there are\n\n"
      "Exit status: 0 converged; 2 not converged; 1 any error.");
}

}  // namespace whilst::fitting
