#include "result_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/common/history.hpp"
#include "apps/common/text.hpp"
#include "solvers/files/text_file.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace whilst::fitting {
namespace {

using command::counted;
using command::duration;
using command::json;

std::string agreement(double found, double certified) {
  return fmt::format("{:.1f}", digits_agreeing(found, certified));
}

/// What to try after a fit that ended like this; empty if there is no general advice.
std::string advice(reason why) {
  switch (why) {
    case reason::iteration_limit:
      return "try a larger --max-iterations, or a --start that is nearer";
    case reason::nan_or_infinity:
      return "at some point the model is not finite: give another --start, or leave such points out";
    default:
      return "try a --start that is nearer";
  }
}

void print_parameters(std::FILE* out, const fit_result& result) {
  const strd_file* certified = result.certified();
  fmt::print(out, "\n{:<10}{:>19}{:>16}", "parameter", "estimate", "standard error");
  if (certified) fmt::print(out, "{:>19}{:>8}{:>16}{:>8}", "certified", "digits", "standard error", "digits");
  fmt::print(out, "\n");
  const fit_outcome& outcome = result.outcome;
  for (std::size_t j = 0; j < outcome.parameters.size(); ++j) {
    const bool has_error = !outcome.standard_errors.empty();
    const double deviation = has_error ? outcome.standard_errors[j] : 0;
    fmt::print(out, "{:<10}{:>19.11g}{:>16}", fmt::format("b{}", j + 1), outcome.parameters[j],
               has_error ? fmt::format("{:.6g}", deviation) : "unknown");
    if (certified) {
      fmt::print(out, "{:>19.11g}{:>8}{:>16.6g}{:>8}", certified->certified[j],
                 agreement(outcome.parameters[j], certified->certified[j]), certified->certified_deviation[j],
                 has_error ? agreement(deviation, certified->certified_deviation[j]) : "");
    }
    fmt::print(out, "\n");
  }
  fmt::print(out, "\n");
}

/// A number about the residuals, with the certified one if there is one.
void print_sum(std::FILE* out, const char* label, double value, const strd_file* certified, double expected) {
  fmt::print(out, "{:<29}{}", label, std::isnan(value) ? "unknown" : fmt::format("{:.11g}", value));
  if (certified) fmt::print(out, "; certified {:.11g}, {} digits", expected, agreement(value, expected));
  fmt::print(out, "\n");
}

}  // namespace

double digits_agreeing(double found, double certified) {
  constexpr double most = 11;
  if (!std::isfinite(found)) return 0;
  const double error = certified != 0 ? std::abs(found / certified - 1) : std::abs(found);
  return std::clamp(error > 0 ? -std::log10(error) : most, 0.0, most);
}

void print_problem(std::FILE* out, const fit_result& result) {
  const data_set& data = result.data;
  const auto points = static_cast<index_type>(data.response.size());
  fmt::print(out, "data         {}: {}, {}", detail::printable(data.path), counted(points, "point"),
             counted(data.variables, "predictor"));
  if (data.names.empty()) {
    fmt::print(out, "\n");
  } else {
    const auto response = data.names.end() - 1;
    const std::string predictors = fmt::format("{}", fmt::join(data.names.begin(), response, ", "));
    fmt::print(out, " ({}), response ({})\n", detail::printable(predictors), detail::printable(*response));
  }
  if (data.certified && !data.certified->corrected.empty())
    fmt::print(out, "             known misprint put right: {}\n", detail::printable(data.certified->corrected));
  fmt::print(out, "model        {}: {}\n", result.model.name, result.model.formula);
  fmt::print(out, "start        {}: {:g}\n", result.start_source, fmt::join(result.start, ", "));
}

void print_result(std::FILE* out, const fit_result& result) {
  const report& summary = result.outcome.summary;
  const strd_file* certified = result.certified();
  fmt::print(out, "machine      {}\n", command::machine_line(describe_machine(), summary.executor()));
  fmt::print(out, "executor     {}, {}, {}\n", summary.executor(), summary.method(), summary.precision());
  print_parameters(out, result);
  print_sum(out, "residual sum of squares", result.outcome.sum_of_squares, certified,
            certified ? certified->residual_sum_of_squares : 0);
  print_sum(out, "residual standard deviation", result.residual_deviation(), certified,
            certified ? certified->residual_deviation : 0);
  fmt::print(out, "{:<29}{}\n\n", "degrees of freedom", result.freedom());
  fmt::print(out, "result       {}: {}\n", name(summary.reason()), sentence(summary.reason()));
  if (!summary.converged()) fmt::print(out, "             {}\n", advice(summary.reason()));
  if (result.outcome.standard_errors.empty() && !std::isnan(result.outcome.sum_of_squares)) {
    fmt::print(out, "             no standard errors: {}\n",
               result.freedom() < 1 ? "there are no more points than parameters"
                                    : "the data do not tell these parameters apart");
  }
  if (!summary.note().empty()) fmt::print(out, "note         {}\n", summary.note());
  fmt::print(out, "iterations   {}, {} of them accepted\n", summary.iterations(), result.outcome.accepted);
  fmt::print(out, "time         set-up {}, fit {}\n", duration(summary.setup_seconds()),
             duration(summary.solve_seconds()));
}

void print_copies(std::FILE* out, const fit_result& result) {
  if (!result.copies) {
    fmt::print(
        out, "copies       none: {}\n",
        result.outcome.summary.converged() ? "there are no more points than parameters" : "the fit has not converged");
    return;
  }
  const copies_outcome& copies = *result.copies;
  const least_squares_batch_report& fits = copies.report;
  fmt::print(out, "\ncopies       {} with noise of {:.6g}: {} converged, in {:.1f} iterations, {} at most\n",
             fits.size(), result.residual_deviation(), fits.number_converged(), fits.mean_iterations(),
             fits.most_iterations());
  fmt::print(out, "             {} by {} on {}, {:.3g} fits a second\n", duration(fits.solve_seconds()),
             fits.executor(), fits.device(), copies.fits_per_second());
  fmt::print(out, "\n{:<10}{:>19}{:>16}{:>16}{:>8}\n", "parameter", "mean of copies", "their spread", "standard error",
             "ratio");
  for (std::size_t j = 0; j < copies.mean.size(); ++j) {
    const bool has_error = !result.outcome.standard_errors.empty();
    const double error = has_error ? result.outcome.standard_errors[j] : 0;
    fmt::print(out, "{:<10}{:>19.11g}{:>16.6g}{:>16}{:>8}\n", fmt::format("b{}", j + 1), copies.mean[j],
               copies.deviation[j], has_error ? fmt::format("{:.6g}", error) : "unknown",
               has_error ? fmt::format("{:.4f}", copies.deviation[j] / error) : "");
  }
}

json result_json(const fit_result& result) {
  const fit_outcome& outcome = result.outcome;
  const report& summary = outcome.summary;
  const strd_file* certified = result.certified();
  json parameters = json::array();
  for (std::size_t j = 0; j < outcome.parameters.size(); ++j) {
    json entry;
    entry["name"] = fmt::format("b{}", j + 1);
    entry["start"] = result.start[j];
    entry["estimate"] = outcome.parameters[j];
    const double deviation =
        outcome.standard_errors.empty() ? std::numeric_limits<double>::quiet_NaN() : outcome.standard_errors[j];
    entry["standard_error"] = deviation;
    if (certified) {
      entry["certified"] = certified->certified[j];
      entry["digits"] = digits_agreeing(outcome.parameters[j], certified->certified[j]);
      entry["certified_standard_error"] = certified->certified_deviation[j];
      entry["standard_error_digits"] = digits_agreeing(deviation, certified->certified_deviation[j]);
    }
    if (result.copies) {
      entry["mean_of_copies"] = result.copies->mean[j];
      entry["spread_of_copies"] = result.copies->deviation[j];
    }
    parameters.push_back(std::move(entry));
  }
  json document;
  document["data"] = result.data.path;
  document["model"] = result.model.name;
  document["formula"] = result.model.formula;
  document["points"] = result.response.size();
  document["predictors"] = result.data.variables;
  document["names"] = result.data.names;
  document["parameters"] = std::move(parameters);
  document["residual_sum_of_squares"] = outcome.sum_of_squares;
  document["residual_standard_deviation"] = result.residual_deviation();
  document["degrees_of_freedom"] = result.freedom();
  if (certified) {
    document["certified_residual_sum_of_squares"] = certified->residual_sum_of_squares;
    document["certified_residual_standard_deviation"] = certified->residual_deviation;
  }
  document["method"] = summary.method();
  document["executor"] = summary.executor();
  document["precision"] = summary.precision();
  document["iterations"] = summary.iterations();
  document["accepted"] = outcome.accepted;
  document["reason"] = name(summary.reason());
  document["converged"] = summary.converged();
  document["setup_seconds"] = summary.setup_seconds();
  document["solve_seconds"] = summary.solve_seconds();
  document["device"] = summary.device();
  document["version"] = version;
  document["note"] = summary.note();
  if (result.copies) {
    const least_squares_batch_report& fits = result.copies->report;
    json& copies = document["copies"];
    copies["count"] = fits.size();
    copies["converged"] = fits.number_converged();
    copies["executor"] = fits.executor();
    copies["mean_iterations"] = fits.mean_iterations();
    copies["most_iterations"] = fits.most_iterations();
    copies["solve_seconds"] = fits.solve_seconds();
    copies["fits_per_second"] = result.copies->fits_per_second();
  }
  document["history"] = command::history_json(summary.history());
  return document;
}

}  // namespace whilst::fitting
