#include "benchmarks/whilst-bench/minimize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "benchmarks/whilst-bench/results_file.hpp"
#include "benchmarks/whilst-bench/suite.hpp"
#include "kernels/problems/test_problems/test_problems.hpp"
#include "whilst/error.hpp"
#include "whilst/machine.hpp"
#include "whilst/minimizer.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

constexpr double largest_error = 1e-8;

struct measured {
  std::string executor;
  whilst::minimize_report report;  ///< of the last solve
  std::vector<double> x;
  double solve_seconds = 0, call_seconds = 0;  ///< medians
  std::optional<double> error;                 ///< max |x - x*|

  double seconds_per_evaluation() const {
    return solve_seconds / static_cast<double>(std::max<whilst::index_type>(report.evaluations, 1));
  }
};

/// The value shared by all entries of the minimizer, if there is one.
std::optional<double> entry_of_minimizer(const std::string& function) {
  if (function == "extended-rosenbrock") return 1;
  if (function == "extended-powell-singular") return 0;
  return {};
}

std::vector<std::string> chosen_executors(const minimize_options& options) {
  if (!options.executors.empty()) return options.executors;
  std::vector<std::string> chosen;
  for (const auto& executor : whilst::describe_machine().executors)
    if (executor.available && (executor.name == "host" || executor.name == "stream" || executor.name == "graph"))
      chosen.push_back(executor.name);
  return chosen;
}

measured measure(const minimize_options& options, const whilst::test_problem& problem, const std::string& executor) {
  const auto f = whilst::make_test_problem(whilst::place_of_executor(executor), problem.name, problem.n);
  whilst::minimizer<double> minimizer(*f, {.method = options.method,
                                           .line_search = options.line_search,
                                           .tolerances = {.gradient = options.gradient_tolerance},
                                           .max_iterations = options.max_iterations,
                                           .executor = executor,
                                           .unroll = options.unroll});
  measured found{.executor = minimizer.executor(), .report = {}, .x = {}, .error = {}};
  std::vector<double> solves, calls;
  for (int k = 0; k <= options.repetitions; ++k) {
    found.x = problem.start;
    const auto begin = std::chrono::steady_clock::now();
    found.report = minimizer.solve(found.x);
    const std::chrono::duration<double> call = std::chrono::steady_clock::now() - begin;
    if (k == 0) continue;
    solves.push_back(found.report.solve_seconds());
    calls.push_back(call.count());
  }
  found.solve_seconds = median_of(solves);
  found.call_seconds = median_of(calls);
  if (const auto known = entry_of_minimizer(problem.name)) {
    found.error = 0;
    for (const double entry : found.x) found.error = std::fmax(*found.error, std::abs(entry - *known));
  }
  return found;
}

template <class Value>
bool same_bits(const std::vector<Value>& one, const std::vector<Value>& other) {
  return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size() * sizeof(Value)) == 0;
}

bool same_bits(const measured& one, const measured& other) {
  return same_bits(one.x, other.x) && same_bits(one.report.records, other.report.records) &&
         one.report.iterations() == other.report.iterations() && one.report.evaluations == other.report.evaluations;
}

json to_json(const measured& found) {
  json one{{"executor", found.executor},
           {"device", found.report.device()},
           {"converged", found.report.converged()},
           {"reason", name(found.report.reason())},
           {"iterations", found.report.iterations()},
           {"evaluations", found.report.evaluations},
           {"f", found.report.value},
           {"gradient_norm", found.report.residual_norm()},
           {"setup_seconds", found.report.setup_seconds()},
           {"solve_seconds", found.solve_seconds},
           {"call_seconds", found.call_seconds},
           {"seconds_per_evaluation", found.seconds_per_evaluation()},
           {"note", found.report.note()}};
  if (found.error) one["max_error"] = *found.error;
  return one;
}

const measured* find(const std::vector<measured>& all, const std::string& executor) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const measured& one) { return one.executor == executor; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

int run_minimize(const minimize_options& options) {
  std::FILE* const out = options.json == "-" ? stderr : stdout;
  fmt::print(out, "{} by {}, {}, to ||g|| <= {:g}; medians of {} solves\n\n", options.function, options.method,
             options.line_search, options.gradient_tolerance, options.repetitions);
  fmt::print(out, "{:>9} {:<8} {:>10} {:>11} {:>11} {:>10} {:>10} {:>14}  {}\n", "n", "executor", "iterations",
             "evaluations", "max |x-x*|", "solve, ms", "call, ms", "us/evaluation", "reason");
  bool all_good = true;
  json sizes = json::array();
  for (const whilst::index_type n : options.sizes) {
    const whilst::test_problem problem = whilst::find_test_problem(options.function, n);
    std::vector<measured> all;
    json entry{{"n", problem.n}, {"executors", json::array()}};
    for (const std::string& executor : chosen_executors(options)) {
      const measured& found = all.emplace_back(measure(options, problem, executor));
      fmt::print(out, "{:>9} {:<8} {:>10} {:>11} {:>11} {:>10.3f} {:>10.3f} {:>14.2f}  {}\n", problem.n, found.executor,
                 found.report.iterations(), found.report.evaluations,
                 found.error ? fmt::format("{:.1e}", *found.error) : "unknown", 1e3 * found.solve_seconds,
                 1e3 * found.call_seconds, 1e6 * found.seconds_per_evaluation(), name(found.report.reason()));
      std::fflush(out);
      all_good = all_good && found.report.converged() && !(found.error > largest_error);
      entry["executors"].push_back(to_json(found));
    }
    const measured *const stream = find(all, "stream"), *const graph = find(all, "graph");
    if (stream && graph) {
      const double ratio = stream->solve_seconds / graph->solve_seconds;
      const bool same = same_bits(*stream, *graph);
      fmt::print(out, "{:>9} stream takes {:.2f} x the time of graph; x, counts and history {}\n", "", ratio,
                 same ? "are the same bits" : "DIFFER");
      entry["stream_to_graph"] = ratio;
      entry["same_bits"] = same;
      all_good = all_good && same;
    }
    sizes.push_back(std::move(entry));
  }
  write_results(options.json,
                {{"suite", "minimize"},
                 {"function", options.function},
                 {"method", options.method},
                 {"line_search", options.line_search},
                 {"gradient_tolerance", options.gradient_tolerance},
                 {"unroll", options.unroll},
                 {"repetitions", options.repetitions}},
                "sizes", sizes);
  return all_good ? 0 : 2;
}

}  // namespace whilst_bench
