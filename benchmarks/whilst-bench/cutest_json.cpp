#include <fmt/format.h>

#include "benchmarks/whilst-bench/cutest_table.hpp"
#include "benchmarks/whilst-bench/results_file.hpp"
#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

/// What is not finite becomes null.
json to_json(const cutest_entry& entry, const cutest_run& run) {
  const auto if_ran = [&](auto value) { return run.ran() ? json(value) : json(nullptr); };
  return {{"method", run.method},
          {"executor", run.executor},
          {"solved", run.solved},
          {"false_claim", run.false_claim()},
          {"minimum", name_of(entry.reached(run))},
          {"reason", run.reason},
          {"message", run.message},
          {"iterations", if_ran(run.iterations)},
          {"evaluations", if_ran(run.evaluations)},
          {"f", run.at_end.value},
          {"true_gradient_norm", run.at_end.norm},
          {"rounding", if_ran(run.at_end.rounding)},
          {"reported_gradient_norm", run.reported_gradient},
          {"setup_seconds", run.setup_seconds},
          {"seconds", run.seconds},
          {"seconds_to_tolerance", run.solved ? json(run.seconds) : json(nullptr)}};
}

json to_json(const cutest_entry& entry) {
  const auto known = entry.from.minimum();
  const cutest_run* const lowest = entry.lowest();
  json one{{"name", entry.from.problem->name},
           {"n", entry.from.n},
           {"minimum", known ? json(known->value) : json(nullptr)},
           {"minimum_is", !known                  ? "unknown"
                          : known->last_digit > 0 ? "published"
                                                  : "exact"},
           {"lowest_found", lowest ? json(lowest->at_end.value) : json(nullptr)},
           {"runs", json::array()}};
  for (const cutest_run& run : entry.runs) one["runs"].push_back(to_json(entry, run));
  return one;
}

json summary_of(const std::string& method, const cutest_results& results) {
  const cutest_tally tally = tally_of(method, results);
  return {{"method", method},
          {"runs", tally.runs},
          {"solved", tally.solved},
          {"other_minima", tally.other_minima},
          {"fastest", tally.fastest},
          {"fewest_evaluations", tally.fewest},
          {"failures", json(tally.failures)}};
}

}  // namespace

json cutest_json(const cutest_options& options, const cutest_results& results) {
  json head{{"suite", "cutest"},
            {"executor", options.executor},
            {"line_search", options.line_search},
            {"gradient_tolerance", options.gradient_tolerance},
            {"max_iterations", options.max_iterations},
            {"deadline", options.deadline},
            {"dense_limit", options.dense_limit},
            {"repetitions", options.repetitions},
            {"runs", results.runs()},
            {"solved", results.solved()},
            {"false_claims", results.false_claims()},
            {"methods", json::array()},
            {"left_out", results.left_out}};
  for (const std::string& method : results.methods) head["methods"].push_back(summary_of(method, results));
  json problems = json::array();
  for (const cutest_entry& entry : results.entries) problems.push_back(to_json(entry));
  return results_document(std::move(head), "problems", problems);
}

std::string cutest_profile(const cutest_options& options, const cutest_results& results) {
  const auto run_of = [](const cutest_entry& entry, const std::string& method) { return entry.by(method); };
  const auto panel = [&](const char* caption, double least, const auto& cost) {
    return profile_by(caption, results.methods, results.methods, results.entries, run_of, least, cost);
  };
  return whilst::command::profile_svg(
      fmt::format("{} problems of CUTEst to a gradient of {:g}", results.entries.size(), options.gradient_tolerance),
      {panel("time", 1e-9, [](const cutest_run& run) { return run.seconds; }),
       panel("iterations", 1, [](const cutest_run& run) { return run.iterations; }),
       panel("evaluations", 1, [](const cutest_run& run) { return run.evaluations; })},
      results.entries.size());
}

}  // namespace whilst_bench
