#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/common/command_line.hpp"

namespace whilst::fitting {
namespace {

using command::add, command::add_threads, command::not_empty, command::one_of, command::whole_number;

enum class infinities { refused, allowed };

/// Parses "500,0.0001" for the option of this name. Throws CLI::ValidationError.
std::vector<double> numbers_of(const std::string& option, const std::string& text, infinities infinite) {
  std::vector<double> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    double value = 0;
    const bool is_number = command::parsed(std::string_view(text).substr(begin, end - begin), value);
    if (!is_number || std::isnan(value) || (std::isinf(value) && infinite == infinities::refused)) {
      throw CLI::ValidationError(
          option, fmt::format("\"{}\" will not do; give numbers, as {}", text,
                              infinite == infinities::allowed ? "0,-inf (inf or -inf for no bound)" : "500,0.0001"));
    }
    numbers.push_back(value);
    begin = end + 1;
  }
  return numbers;
}

/// A number above 0; infinity too, if allowed.
CLI::Validator positive(infinities infinite, const char* example) {
  return command::number<double>(
      "X", [infinite](double x) { return x > 0 && (infinite == infinities::allowed || std::isfinite(x)); },
      fmt::format("a number above 0, as {}", example));
}

}  // namespace

arguments::arguments() : app("Fits a curve to points by nonlinear least squares, on the GPU or the CPU.", "fit") {
  command::add_version(app);
  add(&app, "file", fit.file, "Data set of the NIST StRD, or CSV: predictors, then the response", not_empty())
      ->option_text("FILE");
  app.add_option("--model", fit.model, "The curve, by name (default: the data set's own; needed for CSV)")
      ->type_name("NAME");
  app.add_flag("--models", models, "List the models and leave");
  CLI::Option* start =
      app.add_option_function<std::string>(
             "--start",
             [this](const std::string& text) { fit.start = numbers_of("--start", text, infinities::refused); },
             "The parameters to start at (default: the data set's start 2; for CSV ones)")
          ->type_name("B1,B2,...");
  CLI::Option* start_1 = app.add_flag("--start-1", fit.start_1, "Start where the data set says first, far off");
  CLI::Option* start_2 = app.add_flag("--start-2", fit.start_2, "Start where it says second, nearer");
  start_1->excludes(start)->excludes(start_2);
  start_2->excludes(start);
  add(&app, "--executor", fit.settings.executor,
      "What runs the loop: the CPU; kernel launches; one CUDA graph; one kernel (default auto)",
      one_of({"auto", "host", "stream", "graph", "resident"}));
  add_threads(&app, fit.settings.threads);
  add(&app, "--max-iterations", fit.settings.max_iterations, "Limit of trial points (default 10000)",
      whole_number(0, std::numeric_limits<index_type>::max(), "10000"));
  app.add_option_function<std::string>(
         "--lower",
         [this](const std::string& text) { fit.settings.lower = numbers_of("--lower", text, infinities::allowed); },
         "Least value of each parameter, -inf for any (default: any)")
      ->type_name("B1,B2,...");
  app.add_option_function<std::string>(
         "--upper",
         [this](const std::string& text) { fit.settings.upper = numbers_of("--upper", text, infinities::allowed); },
         "Greatest value of each parameter, inf for any (default: any)")
      ->type_name("B1,B2,...");
  add(&app, "--first-damping", fit.settings.tolerances.first_damping,
      "The first damping, in units of the diagonal of J'J: more for a start that is far off (default 0.001)",
      positive(infinities::refused, "0.001"));
  add(&app, "--first-step", fit.settings.tolerances.first_step,
      "The first trial is no farther from the start than this times the parameters, by their scales; inf for any "
      "(default 10)",
      positive(infinities::allowed, "10"));
  add(&app, "--batch", fit.copies,
      "Fit N noisy copies of the data, too, in one launch: the spread of their parameters is beside the standard "
      "errors",
      whole_number(2, 1'000'000'000, "10000"))
      ->option_text("N");
  add(&app, "--json", fit.json, "Write a report; - for standard output, with nothing else on it", not_empty());
  add(&app, "--plot", fit.plot, "Write a picture of data, curve and residuals (SVG); for one predictor", not_empty());
  app.footer(
      "A CSV file has a column for each predictor and then one for the response, between commas, semicolons, tabs\n"
      "or blanks, under a line of names or none. A file of the NIST StRD, known by its first words, chooses its own\n"
      "model and start, and has certified values to compare with.\n"
      "Standard errors are those of the linearised model at the solution; of a parameter that a bound holds it is 0,\n"
      "and the others' are those beside it fixed. --batch tests that: it makes copies of the\n"
      "data from the fitted curve and normal noise with the residuals' deviation, the same in every run.\n"
      "Files are written whole or not at all, and paths are tried before the fit starts.\n\n"
      "Examples:\n"
      "  fit Misra1a.dat --start-1                    NIST's data, from far off\n"
      "  fit decay.csv --model exponential --start 100,0.5,0 --plot decay.svg\n"
      "  fit points.csv --model line --json - | jq .parameters\n"
      "  fit decay.csv --model exponential --lower 0,0,0 --upper inf,10,inf\n"
      "  fit decay.csv --model exponential --batch 100000\n"
      "  fit --models                                 the curves there are\n\n"
      "Exit status: 0 converged; 2 not converged; 1 any error.");
}

}  // namespace whilst::fitting
