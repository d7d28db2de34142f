#include <fmt/format.h>
#include <cmath>

#include "benchmarks/whilst-bench/linear_table.hpp"
#include "benchmarks/whilst-bench/results_file.hpp"
#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

json to_json(const linear_contender& by) {
  return {{"library", by.library}, {"method", by.method}, {"preconditioner", by.preconditioner}};
}

/// What is not finite becomes null.
json to_json(const linear_run& run) {
  json one = to_json(run.by);
  one.update({{"executor", run.executor},
              {"solved", run.solved},
              {"false_claim", run.false_claim()},
              {"reason", run.reason},
              {"message", run.message}});
  const auto if_ran = [&](auto value) { return run.ran() ? json(value) : json(nullptr); };
  one["iterations"] = if_ran(run.iterations);
  one["products"] = if_ran(run.products);
  one["true_relative_residual"] = run.residual.relative;
  one["rounding"] = if_ran(run.residual.rounding);
  one["reported_relative_residual"] = run.reported_residual;
  if (!std::isnan(run.residual.normal)) {
    one["true_normal_ratio"] = run.residual.normal;
    one["normal_rounding"] = run.residual.normal_rounding;
  }
  one["setup_seconds"] = run.setup_seconds;
  one["seconds"] = run.seconds;
  one["seconds_to_tolerance"] = run.solved ? json(run.seconds) : json(nullptr);
  return one;
}

json to_json(const linear_entry& entry) {
  json one{{"name", entry.from.name},
           {"source", entry.from.gallery.empty() ? entry.from.file : entry.from.gallery},
           {"rows", entry.rows},
           {"columns", entry.columns},
           {"nonzeros", entry.nonzeros},
           {"right_side", entry.right_side},
           {"right_side_file", entry.from.rhs},
           {"runs", json::array()}};
  for (const linear_run& run : entry.runs) one["runs"].push_back(to_json(run));
  return one;
}

json summary_of(const linear_contender& by, const linear_results& results) {
  const linear_tally tally = tally_of(by, results);
  json one = to_json(by);
  one.update({{"runs", tally.runs},
              {"solved", tally.solved},
              {"fastest", tally.fastest},
              {"fewest_products", tally.fewest},
              {"failures", json(tally.failures)}});
  return one;
}

}  // namespace

json linear_json(const linear_options& options, const linear_results& results) {
  json head{{"suite", "linear"},
            {"precision", options.precision},
            {"executor", options.executor},
            {"rtol", options.tolerance()},
            {"max_iterations", options.max_iterations},
            {"deadline", options.deadline},
            {"repetitions", options.repetitions},
            {"runs", results.runs()},
            {"solved", results.solved()},
            {"false_claims", results.false_claims()},
            {"methods", json::array()},
            {"left_out", json::array()}};
  for (const linear_contender& by : results.contenders) head["methods"].push_back(summary_of(by, results));
  for (const left_out_file& file : results.left_out)
    head["left_out"].push_back({{"name", file.name}, {"why", file.why}, {"is_system", file.is_system}});
  json problems = json::array();
  for (const linear_entry& entry : results.entries) problems.push_back(to_json(entry));
  return results_document(std::move(head), "problems", problems);
}

std::string linear_profile(const linear_options& options, const linear_results& results) {
  std::vector<std::string> labels;
  for (const linear_contender& by : results.contenders) labels.push_back(by.label());
  const auto run_of = [](const linear_entry& entry, const linear_contender& by) { return entry.by(by); };
  const auto panel = [&](const char* caption, double least, const auto& cost) {
    return profile_by(caption, labels, results.contenders, results.entries, run_of, least, cost);
  };
  return whilst::command::profile_svg(
      fmt::format("{} linear systems to {:g}", results.entries.size(), options.tolerance()),
      {panel("time", 1e-9, [](const linear_run& run) { return run.seconds; }),
       panel("iterations", 1, [](const linear_run& run) { return run.iterations; }),
       panel("products with A", 1, [](const linear_run& run) { return run.products; })},
      results.entries.size());
}

}  // namespace whilst_bench
