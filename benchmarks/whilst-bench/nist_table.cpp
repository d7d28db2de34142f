#include "benchmarks/whilst-bench/nist_table.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "benchmarks/whilst-bench/results_file.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

json to_json(const nist_fit& fit) {
  return {{"solved", fit.digits >= digits_wanted},
          {"digits", fit.digits},
          {"digits_of_standard_errors", fit.digits_of_errors},
          {"reason", fit.reason},
          {"iterations", fit.iterations},
          {"seconds", fit.seconds},
          {"sum_of_squares", fit.sum_of_squares},
          {"parameters", fit.parameters}};
}

}  // namespace

int report_nist(const std::vector<nist_set>& sets, const nist_options& options) {
  std::FILE* const out = options.json == "-" ? stderr : stdout;
  fmt::print(out,
             "Levenberg-Marquardt, {}; digits that agree with NIST's certified parameters, in the worst of them\n\n",
             sets.empty() ? options.executor : sets.front().fits[0].executor);
  fmt::print(out, "{:<10} {:>8} {:>11}  {:<20} {:>8} {:>11}  {}\n", "set", "digits", "iterations", "from start 1",
             "digits", "iterations", "from start 2");
  int solved = 0, eight = 0, all = 0;
  for (const nist_set& set : sets) {
    const nist_fit& one = set.fits[0];
    const nist_fit& two = set.fits[1];
    fmt::print(out, "{:<10} {:>8.1f} {:>11}  {:<20} {:>8.1f} {:>11}  {}\n", set.name, one.digits, one.iterations,
               one.reason, two.digits, two.iterations, two.reason);
    for (const nist_fit& fit : set.fits) {
      ++all;
      solved += fit.digits >= digits_wanted;
      eight += fit.digits >= 8;
    }
  }
  fmt::print(out, "\n8 digits and more: {} of {}\nnist: {} of {} solved\n", eight, all, solved, all);

  json entries = json::array();
  for (const nist_set& set : sets)
    entries.push_back({{"name", set.name}, {"start_1", to_json(set.fits[0])}, {"start_2", to_json(set.fits[1])}});
  write_results(options.json,
                {{"suite", "nist"},
                 {"method", "levenberg-marquardt"},
                 {"executor", sets.empty() ? options.executor : sets.front().fits[0].executor},
                 {"solved", solved},
                 {"eight_digits", eight},
                 {"fits", all}},
                "sets", entries);
  return solved == all ? 0 : 2;
}

}  // namespace whilst_bench
