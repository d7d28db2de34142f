#include "benchmarks/whilst-bench/fits_table.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "benchmarks/whilst-bench/results_file.hpp"
#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

constexpr std::array<const char*, 3> names{"b0", "b1", "b2"};

}  // namespace

int report_fits(const fits_result& result, const fits_options& options) {
  const whilst::least_squares_batch_report& report = result.report;
  const auto count = static_cast<double>(report.size());
  const double launch = median_of(result.launch_seconds), call = median_of(result.call_seconds);
  std::map<std::string, whilst::index_type> reasons;
  for (const whilst::fit_outcome& fit : report) ++reasons[std::string(name(fit.reason))];

  std::FILE* const out = options.json == "-" ? stderr : stdout;
  fmt::print(out, "b0 exp(-b1 t) + b2 to {} points with 1 % noise, from parameters off by 50 %\n", options.points);
  fmt::print(out, "{} fits in {} on {}, {} {} a fit\n\n", report.size(), report.precision(), report.device(),
             report.lanes(), report.lanes() == 1 ? "thread" : "threads");
  fmt::print(out, "fits per second    {:10.3e}  in the launch alone: {:.3f} ms, the median of {}\n", count / launch,
             1e3 * launch, result.launch_seconds.size());
  fmt::print(out, "                   {:10.3e}  in the whole call, x and outcomes copied: {:.3f} ms\n", count / call,
             1e3 * call);
  fmt::print(out, "converged          {:10.6f} ", static_cast<double>(report.number_converged()) / count);
  for (const auto& [reason, times_seen] : reasons) fmt::print(out, " {} {}", reason, times_seen);
  fmt::print(out, "\niterations         {:10.2f}  the mean; at most {}\n", report.mean_iterations(),
             report.most_iterations());
  json parameters = json::array();
  for (std::size_t j = 0; j < names.size(); ++j) {
    const fits_spread& spread = result.spreads[j];
    fmt::print(out, "{} / truth - 1     {:10.2e}  the mean; deviation {:.2e}\n", names[j], spread.mean,
               spread.deviation);
    parameters.push_back({{"name", names[j]}, {"mean", spread.mean}, {"deviation", spread.deviation}});
  }
  fmt::print(out, "\nfits: {} of {} converged\n", report.number_converged(), report.size());
  write_results(options.json,
                {{"suite", "fits"},
                 {"method", report.method()},
                 {"executor", report.executor()},
                 {"device", report.device()},
                 {"precision", report.precision()},
                 {"lanes", report.lanes()},
                 {"problems", report.size()},
                 {"points", options.points},
                 {"first_damping", result.tolerances.first_damping},
                 {"tolerance_gradient", result.tolerances.gradient},
                 {"tolerance_step", result.tolerances.step},
                 {"fits_per_second_launch", count / launch},
                 {"fits_per_second_call", count / call},
                 {"launch_seconds", result.launch_seconds},
                 {"call_seconds", result.call_seconds},
                 {"setup_seconds", report.setup_seconds()},
                 {"converged", report.number_converged()},
                 {"reasons", reasons},
                 {"mean_iterations", report.mean_iterations()},
                 {"most_iterations", report.most_iterations()}},
                "parameters_over_truth_less_1", parameters);
  return report.all_converged() ? 0 : 2;
}

}  // namespace whilst_bench
