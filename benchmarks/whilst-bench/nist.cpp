#include "benchmarks/whilst-bench/nist.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "benchmarks/whilst-bench/nist_table.hpp"
#include "kernels/problems/curves/curve_models.hpp"
#include "kernels/problems/curves/fit_model.hpp"
#include "kernels/problems/curves/strd_file.hpp"
#include "whilst/error.hpp"

namespace whilst_bench {
namespace {

/// NIST certifies this many digits; further agreement is chance.
constexpr double digits_certified = 11;

/// The digits to which a number agrees with a certified one: minus the decimal logarithm of the relative error.
double digits_agreeing(double found, double certified) {
  if (!std::isfinite(found)) return 0;
  const double error = certified != 0 ? std::abs(found - certified) / std::abs(certified) : std::abs(found);
  return std::clamp(error > 0 ? -std::log10(error) : digits_certified, 0.0, digits_certified);
}

nist_fit fit(const whilst::strd_file& set, const std::vector<double>& response, const std::vector<double>& start,
             const nist_options& options) {
  const whilst::fitting::fit_outcome fitted =
      whilst::fitting::fit_model(set.name, set.predictors, response, start, {.executor = options.executor});

  nist_fit result;
  result.executor = fitted.summary.executor();
  result.reason = std::string(whilst::name(fitted.summary.reason()));
  result.iterations = fitted.summary.iterations();
  result.seconds = fitted.summary.solve_seconds();
  result.sum_of_squares = fitted.sum_of_squares;
  result.parameters = fitted.parameters;
  result.digits = digits_certified;
  for (std::size_t j = 0; j < result.parameters.size(); ++j)
    result.digits = std::min(result.digits, digits_agreeing(result.parameters[j], set.certified[j]));
  const std::vector<double>& errors = fitted.standard_errors;
  result.digits_of_errors = errors.empty() ? 0 : digits_certified;
  for (std::size_t j = 0; j < errors.size(); ++j)
    result.digits_of_errors = std::min(result.digits_of_errors, digits_agreeing(errors[j], set.certified_deviation[j]));
  return result;
}

std::vector<std::filesystem::path> data_files(const std::string& folder) {
  std::error_code problem;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem))
    if (entry.path().extension() == ".dat") files.push_back(entry.path());
  if (files.empty())
    throw whilst::error("reading NIST's sets", "there is no .dat file in '" + folder + "'",
                        "Give the folder with the StRD nonlinear regression files as --data");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int run_nist(const nist_options& options) {
  std::vector<nist_set> sets;
  for (const std::filesystem::path& file : data_files(options.data)) {
    const whilst::strd_file data = whilst::read_strd(file.string());
    nist_set set;
    set.name = data.name;
    std::vector<double> response = data.response;
    const bool known = whilst::with_curve_model(data.name, [&](const auto& model) {
      for (double& y : response) y = whilst::curve_response(model, y);
    });
    if (!known)
      throw whilst::error("fitting '" + file.string() + "'", "there is no model called '" + data.name + "'",
                          "Take the file out of the folder");
    set.fits[0] = fit(data, response, data.start_1, options);
    set.fits[1] = fit(data, response, data.start_2, options);
    sets.push_back(std::move(set));
  }
  return report_nist(sets, options);
}

}  // namespace whilst_bench
