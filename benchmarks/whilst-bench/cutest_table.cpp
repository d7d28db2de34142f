#include "benchmarks/whilst-bench/cutest_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/text.hpp"
#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {
namespace {

/// Why a run failed, in a cell of the table.
std::string brief(const std::string& failure) {
  static const std::map<std::string, std::string> words{{"iteration_limit", "limit"},
                                                        {"divergence", "diverges"},
                                                        {"nan_or_infinity", "nan"},
                                                        {"converged_function", "rounding"},
                                                        {"converged_step", "no step"},
                                                        {"radius_too_small", "radius"},
                                                        {"attainable_accuracy", "rounding"},
                                                        {"line_search_failed", "search"},
                                                        {"not_run", "not run"},
                                                        {"false_claim", "FALSE"}};
  const auto found = words.find(failure);
  return found == words.end() ? failure : found->second;
}

std::size_t width_of(const std::string& method) { return std::max<std::size_t>(10, short_name(method).size() + 1); }

std::string cell_of(const cutest_entry& entry, const cutest_run& run) {
  if (!run.solved) return brief(failure_of(run));
  const char* const mark = entry.reached(run) == minimum_reached::other   ? "*"
                           : entry.reached(run) == minimum_reached::below ? "!"
                                                                          : "";
  return fmt::format("{}{}", run.evaluations, mark);
}

/// "DQRTIC, n 100".
std::string name_of(const cutest_entry& entry) {
  return fmt::format("{}, n {}", entry.from.problem->name, entry.from.n);
}

void print_other_minima(std::FILE* out, const cutest_results& results) {
  for (const cutest_entry& entry : results.entries) {
    double lowest = HUGE_VAL, highest = -HUGE_VAL;
    for (const cutest_run& run : entry.runs) {
      const minimum_reached which = entry.reached(run);
      if (which != minimum_reached::other && which != minimum_reached::below) continue;
      lowest = std::min(lowest, run.at_end.value);
      highest = std::max(highest, run.at_end.value);
    }
    if (lowest > highest) continue;
    const auto known = entry.from.minimum();
    const std::string from = fmt::format("{:.7g}", lowest), to = fmt::format("{:.7g}", highest);
    fmt::print(out, "other minimum: {}: f {}; {} {:.7g}\n", name_of(entry), from == to ? from : from + " to " + to,
               known ? "known is" : "lowest found here is", known ? known->value : entry.lowest()->at_end.value);
  }
}

void print_false_claims(std::FILE* out, const cutest_options& options, const cutest_results& results) {
  for (const cutest_entry& entry : results.entries) {
    for (const cutest_run& run : entry.runs) {
      if (!run.false_claim()) continue;
      fmt::print(out, "FALSE CLAIM: {} by {} reports ||g|| = {:.2e}; it is {:.2e}, above {:g}\n", name_of(entry),
                 run.method, run.reported_gradient, run.at_end.norm, options.gradient_tolerance);
    }
  }
}

}  // namespace

void print_cutest_head(std::FILE* out, const cutest_options& options, const cutest_results& results) {
  fmt::print(out, "Evaluations of f and its gradient until ||g|| <= {:g}, in at most {} iterations; or why not\n\n",
             options.gradient_tolerance, options.max_iterations);
  fmt::print(out, "{:<10} {:>7} {:>14}", "problem", "n", "least f");
  for (const std::string& method : results.methods) fmt::print(out, "{:>{}}", short_name(method), width_of(method));
  fmt::print(out, "  fastest\n");
  std::fflush(out);
}

void print_cutest_row(std::FILE* out, const cutest_results& results, const cutest_entry& entry) {
  const auto known = entry.from.minimum();
  fmt::print(out, "{:<10} {:>7} {:>14}", entry.from.problem->name, entry.from.n,
             known ? fmt::format("{:.7g}", known->value) : "unknown");
  for (const std::string& method : results.methods) {
    const cutest_run* const run = entry.by(method);
    fmt::print(out, "{:>{}}", run ? cell_of(entry, *run) : "", width_of(method));
  }
  const cutest_run* const best = entry.fastest();
  fmt::print(out, "  {}\n",
             best ? fmt::format("{} {}", short_name(best->method), whilst::command::duration(best->seconds)) : "none");
  std::fflush(out);
}

void print_cutest_summary(std::FILE* out, const cutest_options& options, const cutest_results& results) {
  fmt::print(out, "\n{:<22} {:>6} {:>3} {:>6} {:>8} {:>7} {:>10} {:>11} {:>12}  failures\n", "method", "solved", "of",
             "other*", "fastest", "fewest", "iterations", "evaluations", "time");
  for (const std::string& method : results.methods) {
    const cutest_tally tally = tally_of(method, results);
    std::string why;
    for (const auto& [reason, times] : tally.failures)
      why += fmt::format("{}{} {}", why.empty() ? "  " : ", ", times, brief(reason));
    fmt::print(out, "{:<22} {:>6} {:>3} {:>6} {:>8} {:>7} {:>10} {:>11} {:>12}{}\n", method, tally.solved, tally.runs,
               tally.other_minima, tally.fastest, tally.fewest, tally.iterations, tally.evaluations,
               whilst::command::duration(tally.seconds), why);
  }
  fmt::print(out,
             "fewest: evaluations. Iterations, evaluations and time are those of what is solved.\n"
             "*: solved, at another minimum than the lowest known; !: below what is published\n");
  const bool all_taken = std::all_of(results.methods.begin(), results.methods.end(), [&](const std::string& method) {
    return tally_of(method, results).runs == static_cast<whilst::index_type>(results.entries.size());
  });
  if (!all_taken)
    fmt::print(out, "empty: methods with n * n numbers, above --dense-limit {} or their own\n", options.dense_limit);
  for (const std::string& one : results.left_out) fmt::print(out, "left out: {}: interrupted\n", one);
  for (const cutest_entry& entry : results.entries)
    for (const cutest_run& run : entry.runs)
      if (run.reason == "error") fmt::print(out, "error: {} by {}: {}\n", name_of(entry), run.method, run.message);
  print_other_minima(out, results);
  print_false_claims(out, options, results);
  fmt::print(
      out, "cutest: {} of {} runs solved, {} of {} problems by one or another; {}\n", results.solved(), results.runs(),
      results.problems_solved(), results.entries.size(),
      results.false_claims() == 0 ? "no false claim" : whilst::command::counted(results.false_claims(), "FALSE CLAIM"));
}

}  // namespace whilst_bench
