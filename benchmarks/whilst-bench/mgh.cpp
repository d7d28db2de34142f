#include "benchmarks/whilst-bench/mgh.hpp"

#include <algorithm>

#include "benchmarks/whilst-bench/mgh_runs.hpp"
#include "whilst/error.hpp"
#include "whilst/minimizer.hpp"

namespace whilst_bench {
namespace {

using whilst::test_problem;

/// All starts with one method of whilst::minimizer, recorded once.
mgh_runs minimize(const test_problem& problem, const std::string& method) {
  const auto f = whilst::make_test_problem(whilst::place::host(), problem.name, problem.n);
  const bool by_cg = method == "levenberg-marquardt-cg";
  whilst::minimizer<double> minimizer(*f, {.method = by_cg ? "levenberg-marquardt" : method,
                                           .line_search = "strong-wolfe",
                                           .tolerances = {.gradient = 1e-9},
                                           .max_iterations = mgh_iterations(method),
                                           .executor = "host"});
  mgh_runs runs;
  for (std::size_t k = 0; k < mgh_starts.size(); ++k) {
    std::vector<double> x = problem.start;
    for (double& entry : x) entry *= mgh_starts[k];
    const whilst::minimize_report report = minimizer.solve(x);
    runs[k] = {.reason = report.reason(),
               .iterations = report.iterations(),
               .evaluations = report.evaluations,
               .value = report.value,
               .gradient_norm = report.residual_norm()};
  }
  return runs;
}

mgh_runs fit(const test_problem& problem) {
  mgh_runs runs;
  for (std::size_t k = 0; k < mgh_starts.size(); ++k) {
    std::vector<double> x = problem.start;
    for (double& entry : x) entry *= mgh_starts[k];
    runs[k] = run_levenberg_marquardt(problem, x);
  }
  return runs;
}

}  // namespace

const std::vector<std::string>& mgh_methods() {
  static const std::vector<std::string> all{"lbfgs",
                                            "bfgs",
                                            "newton",
                                            "levenberg-marquardt",
                                            "newton-cg",
                                            "trust-region",
                                            "levenberg-marquardt-cg",
                                            "dogleg",
                                            "conjugate-gradient-pr",
                                            "conjugate-gradient-hz",
                                            "gradient-descent"};
  return all;
}

whilst::index_type mgh_iterations(const std::string& method) {
  return method == "gradient-descent" ? 3000 : method.starts_with("conjugate-gradient") ? 5000 : 10'000;
}

int run_mgh(const mgh_options& options) {
  std::vector<std::string> methods = mgh_methods();
  if (options.method != "all") {
    if (std::find(methods.begin(), methods.end(), options.method) == methods.end())
      throw whilst::error("running mgh", "there is no method called '" + options.method + "'", "See mgh --help");
    methods = {options.method};
  }
  std::vector<mgh_entry> entries;
  for (const test_problem& problem : whilst::test_problems()) {
    mgh_entry entry{problem, {}};
    for (const std::string& method : methods) {
      mgh_runs runs = method == "levenberg-marquardt" ? fit(problem) : minimize(problem, method);
      for (mgh_run& run : runs) run.solved = whilst::is_published_minimum(run.value, problem.minima);
      entry.by_method.push_back(runs);
    }
    entries.push_back(std::move(entry));
  }
  return report_mgh(methods, entries, options.json);
}

}  // namespace whilst_bench
