#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "benchmarks/whilst-bench/minimizations.hpp"
#include "benchmarks/whilst-bench/results_file.hpp"
#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {

int report_minimizations(const minimizations_result& result, const minimizations_options& options) {
  const whilst::minimizer_batch_report& report = result.report;
  const auto count = static_cast<double>(report.size());
  const double launch = median_of(result.launch_seconds), call = median_of(result.call_seconds);
  const double evaluations = report.mean_evaluations() * count;
  std::map<std::string, whilst::index_type> reasons;
  for (const whilst::minimization_outcome& one : report) ++reasons[std::string(name(one.reason))];

  std::FILE* const out = options.json == "-" ? stderr : stdout;
  fmt::print(out, "Rosenbrock's function of {} unknowns by {}, from points between -2 and 2\n", options.unknowns,
             report.method());
  fmt::print(out, "{} minimizations in {} on {}, {} {} each\n\n", report.size(), report.precision(), report.device(),
             report.lanes(), report.lanes() == 1 ? "thread" : "threads");
  fmt::print(out, "minimizations per second  {:10.3e}  in the launch alone: {:.3f} ms, the median of {}\n",
             count / launch, 1e3 * launch, result.launch_seconds.size());
  fmt::print(out, "                          {:10.3e}  in the whole call, x and outcomes copied: {:.3f} ms\n",
             count / call, 1e3 * call);
  fmt::print(out, "evaluations per second    {:10.3e}  of f and its gradient\n", evaluations / launch);
  fmt::print(out, "converged                 {:10.6f} ", static_cast<double>(report.number_converged()) / count);
  for (const auto& [reason, times_seen] : reasons) fmt::print(out, " {} {}", reason, times_seen);
  fmt::print(out, "\niterations                {:10.2f}  the mean; at most {}\n", report.mean_iterations(),
             report.most_iterations());
  fmt::print(out, "evaluations               {:10.2f}  the mean\n", report.mean_evaluations());
  fmt::print(out, "largest |x - 1|           {:10.2e}  of those that converged\n", result.largest_error);
  fmt::print(out, "\nminimizations: {} of {} converged\n", report.number_converged(), report.size());
  write_results(options.json,
                {{"suite", "minimizations"},
                 {"method", report.method()},
                 {"line_search", options.line_search},
                 {"executor", report.executor()},
                 {"device", report.device()},
                 {"precision", report.precision()},
                 {"lanes", report.lanes()},
                 {"problems", report.size()},
                 {"unknowns", options.unknowns},
                 {"tolerance_gradient", result.tolerance},
                 {"minimizations_per_second_launch", count / launch},
                 {"minimizations_per_second_call", count / call},
                 {"launch_seconds", result.launch_seconds},
                 {"call_seconds", result.call_seconds},
                 {"setup_seconds", report.setup_seconds()},
                 {"converged", report.number_converged()},
                 {"mean_iterations", report.mean_iterations()},
                 {"most_iterations", report.most_iterations()},
                 {"mean_evaluations", report.mean_evaluations()},
                 {"largest_error", result.largest_error}},
                "reasons", reasons);
  return report.all_converged() ? 0 : 2;
}

}  // namespace whilst_bench
