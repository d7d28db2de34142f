#include "results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace whilst::command {

result_files::result_files(const solve_options& options)
    : output("--output", options.output),
      history("--history", options.history),
      plot("--plot", options.plot),
      report(options.json) {
  std::vector<std::pair<std::string, std::string>> taken;
  const auto take_input = [&](const std::string& option, const std::string& path) {
    if (!path.empty()) taken.emplace_back(option, resolved(path));
  };
  take_input("the matrix", options.matrix_file);
  take_input("--rhs", options.rhs_file);
  const auto take_output = [&](const std::string& option, const output_file& file) {
    if (!file.wanted() || !file.replaces()) return;
    for (const auto& [other, target] : taken) {
      if (target == file.target()) {
        throw error(option + " " + file.path(), "this is the same file as " + other, "Give another path");
      }
    }
    taken.emplace_back(option, file.target());
  };
  take_output("--output", output);
  take_output("--history", history);
  take_output("--plot", plot);
  take_output("--json", report.file());
}

std::string history_csv(const std::vector<history_record>& history) {
  std::string text = "iteration,residual_norm\n";
  for (const auto& record : history) {
    fmt::format_to(std::back_inserter(text), "{},{}\n", record.iteration, record.residual_norm);
  }
  return text;
}

double relative_tolerance(const solve_options& options, double rhs_norm) {
  return rhs_norm > 0 ? std::max(options.solver.rtol, options.solver.atol / rhs_norm) : options.solver.rtol;
}

}  // namespace whilst::command
