#include "benchmarks/whilst-bench/linear_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/common/text.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"

namespace whilst_bench {
namespace {

/// Why a run failed, in a cell of the table.
std::string short_reason(const std::string& failure) {
  static const std::map<std::string, std::string> words{
      {"iteration_limit", "limit"},        {"divergence", "diverges"}, {"indefinite_preconditioner", "indef. M"},
      {"indefinite_operator", "indef. A"}, {"nan_or_infinity", "nan"}, {"stagnation", "stagnates"},
      {"attainable_accuracy", "rounding"}, {"not_run", "not run"},     {"false_claim", "FALSE"}};
  const auto found = words.find(failure);
  return found == words.end() ? failure : found->second;
}

std::vector<std::string> columns_of(const linear_results& results) {
  std::vector<std::string> columns;
  for (const linear_contender& one : results.contenders)
    if (std::find(columns.begin(), columns.end(), one.column()) == columns.end()) columns.push_back(one.column());
  return columns;
}

std::size_t width_of_column(const std::string& column) { return std::max<std::size_t>(9, column.size()) + 1; }

std::string name_in_table(const std::string& name) {
  constexpr std::size_t most = 24;
  return name.size() <= most ? name : "..." + name.substr(name.size() - most + 3);
}

void print_false_claims(std::FILE* out, const linear_options& options, const linear_results& results) {
  for (const linear_entry& entry : results.entries) {
    for (const linear_run& run : entry.runs) {
      if (!run.false_claim()) continue;
      fmt::print(out, "{}: {} by {} reports {} with {:.2e}; the true relative residual is {:.2e}, above {:g}\n",
                 run.by.library == "whilst" ? "FALSE CLAIM" : "false claim of a baseline", entry.from.name,
                 run.by.label(), run.reason, run.reported_residual, run.residual.relative, options.tolerance());
    }
  }
}

}  // namespace

void print_linear_head(std::FILE* out, const linear_options& options, const linear_results& results) {
  fmt::print(out, "Iterations to a true relative residual of {:g} in {}, at most {}; or why not\n\n",
             options.tolerance(), options.precision, options.max_iterations);
  fmt::print(out, "{:<24} {:>8} {:>9} {:<6}", "problem", "n", "nonzeros", "M");
  for (const std::string& column : columns_of(results)) fmt::print(out, "{:>{}}", column, width_of_column(column));
  fmt::print(out, "  fastest\n");
  std::fflush(out);
}

void print_linear_rows(std::FILE* out, const linear_results& results, const linear_entry& entry) {
  for (const std::string& preconditioner : whilst::preconditioner_names()) {
    linear_entry row = entry;
    std::erase_if(row.runs, [&](const linear_run& run) { return run.by.preconditioner != preconditioner; });
    if (row.runs.empty()) continue;
    fmt::print(out, "{:<24} {:>8} {:>9} {:<6}", name_in_table(entry.from.name), entry.rows, entry.nonzeros,
               preconditioner);
    for (const std::string& column : columns_of(results)) {
      const auto run =
          std::find_if(row.runs.begin(), row.runs.end(), [&](const auto& one) { return one.by.column() == column; });
      const std::string cell = run == row.runs.end() ? ""
                               : run->solved         ? std::to_string(run->iterations)
                                                     : short_reason(failure_of(*run));
      fmt::print(out, "{:>{}}", cell, width_of_column(column));
    }
    const linear_run* const best = row.fastest();
    fmt::print(out, "  {}\n",
               best ? fmt::format("{} {}", best->by.column(), whilst::command::duration(best->seconds)) : "none");
  }
  std::fflush(out);
}

void print_linear_summary(std::FILE* out, const linear_options& options, const linear_results& results) {
  fmt::print(out, "\n{:<24} {:>6} {:>3} {:>8} {:>7} {:>10} {:>12}  failures\n", "method", "solved", "of", "fastest",
             "fewest", "iterations", "time");
  for (const linear_contender& one : results.contenders) {
    const linear_tally tally = tally_of(one, results);
    std::string why;
    for (const auto& [reason, times] : tally.failures)
      why += fmt::format("{}{} {}", why.empty() ? "  " : ", ", times, short_reason(reason));
    fmt::print(out, "{:<24} {:>6} {:>3} {:>8} {:>7} {:>10} {:>12}{}\n", one.label(), tally.solved, tally.runs,
               tally.fastest, tally.fewest, tally.iterations, whilst::command::duration(tally.seconds), why);
  }
  fmt::print(out, "fewest: products with A. Iterations and time are those of what is solved.\n");
  for (const left_out_file& file : results.left_out)
    fmt::print(out, "left out: {}{}\n", file.is_system ? "" : file.name + ": ", file.why);
  for (const linear_entry& entry : results.entries)
    for (const linear_run& run : entry.runs)
      if (run.reason == "error") fmt::print(out, "error: {} by {}: {}\n", entry.from.name, run.by.label(), run.message);
  print_false_claims(out, options, results);
  fmt::print(
      out, "linear: {} of {} runs solved, {} of {} systems by one or another; {}\n", results.solved(), results.runs(),
      results.systems_solved(), results.entries.size(),
      results.false_claims() == 0 ? "no false claim" : whilst::command::counted(results.false_claims(), "FALSE CLAIM"));
}

}  // namespace whilst_bench
