#include "benchmarks/whilst-bench/linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "apps/common/json_file.hpp"
#include "apps/common/program.hpp"
#include "apps/common/progress.hpp"
#include "benchmarks/whilst-bench/linear_table.hpp"
#include "benchmarks/whilst-bench/suite.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/error.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst_bench {
namespace {

using namespace whilst::command;

bool is_made_from_matrix(const std::string& preconditioner) {
  return whilst::is_preconditioner_in_parts({.preconditioner = preconditioner});
}

/// What is made from the matrix is for A, and least squares want one for A'A; ilu and spai are not symmetric,
/// and what solve does changes from one iteration to the next.
bool takes(const std::string& method, const std::string& preconditioner) {
  if (!is_made_from_matrix(preconditioner)) return true;
  const auto& all = whilst::linear_methods<double>();
  return std::none_of(all.begin(), all.end(), [&](const auto& one) {
    return one.name == method &&
           (one.needs.transpose || (one.needs.symmetric && (preconditioner == "ilu" || preconditioner == "spai")) ||
            (one.needs.fixed_preconditioner && preconditioner == "solve"));
  });
}

/// Who solves this case: the library's methods, and the baselines after them.
std::vector<linear_contender> contenders_of(const linear_case& one, bool baseline) {
  std::vector<linear_contender> all;
  for (const std::string& preconditioner : one.preconditioners) {
    for (const std::string& method : one.methods)
      if (takes(method, preconditioner)) all.push_back({"whilst", method, preconditioner});
    if (!baseline || one.is_rectangular || is_made_from_matrix(preconditioner)) continue;
    for (const std::string& method : eigen_methods()) all.push_back({"eigen", method, preconditioner});
  }
  return all;
}

/// Those of all cases, in the order of the table's columns.
std::vector<linear_contender> contenders_of(const std::vector<linear_case>& cases, bool baseline) {
  linear_case every{
      .name = "", .file = "", .gallery = "", .rhs = "", .methods = {}, .preconditioners = {}, .is_rectangular = false};
  const auto add = [](std::vector<std::string>& into, const std::vector<std::string>& more) {
    for (const std::string& name : more)
      if (std::find(into.begin(), into.end(), name) == into.end()) into.push_back(name);
  };
  for (const linear_case& one : cases) {
    add(every.methods, one.methods);
    add(every.preconditioners, one.preconditioners);
  }
  return contenders_of(every, baseline);
}

template <class T>
linear_entry run_case(const linear_case& from, const linear_options& options, const interrupt_watch& interrupts,
                      const std::function<void(const linear_contender&)>& show) {
  const linear_system<T> system = load_linear_case<T>(from);
  linear_entry entry{from, system.A.rows(), system.A.columns(), system.A.nonzeros(), system.right_side, {}};
  for (const linear_contender& by : contenders_of(from, options.baseline)) {
    show(by);
    if (by.library == "whilst")
      entry.runs.push_back(run_whilst(system, by, options, interrupts));
    else if (!interrupts.interrupted())
      entry.runs.push_back(run_eigen(system, by, options));
  }
  return entry;
}

template <class T>
linear_results run_all(linear_cases cases, const linear_options& options, std::FILE* out) {
  linear_results results{contenders_of(cases.all, options.baseline), {}, std::move(cases.left_out)};
  const interrupt_watch interrupts;
  status_line status;
  print_linear_head(out, options, results);
  for (std::size_t k = 0; k < cases.all.size(); ++k) {
    const linear_case& one = cases.all[k];
    if (interrupts.interrupted()) {
      results.left_out.push_back({one.name, one.name + ": interrupted"});
      continue;
    }
    const auto show = [&](const linear_contender& by) {
      status.show(fmt::format("{} of {}, {}: {} (Ctrl-C stops)", k + 1, cases.all.size(), one.name, by.label()));
    };
    try {
      linear_entry entry = run_case<T>(one, options, interrupts, show);
      status.show("");
      print_linear_rows(out, results, entry);
      results.entries.push_back(std::move(entry));
    } catch (const whilst::error& problem) {
      results.left_out.push_back({one.name, problem.what()});
    }
  }
  return results;
}

}  // namespace

int run_linear(const linear_options& options) {
  const output_file profile("--profile", options.profile);
  const json_destination report(options.json, {&profile});
  require_different_files({{"--cases", options.cases}}, {&report.file(), &profile});
  require_executor(options.executor);
  linear_cases cases = find_linear_cases(options);

  std::FILE* const out = report.text();
  const linear_results results = options.precision == "float" ? run_all<float>(std::move(cases), options, out)
                                                              : run_all<double>(std::move(cases), options, out);
  print_linear_summary(out, options, results);
  report.write(linear_json(options, results));
  if (profile.wanted()) profile.write(linear_profile(options, results));
  require_standard_output();
  if (results.false_claims() > 0) return claimed_falsely;
  const bool all_taken = std::none_of(results.left_out.begin(), results.left_out.end(),
                                      [](const left_out_file& file) { return file.is_system; });
  return all_taken && results.solved() == results.runs() ? succeeded : not_converged;
}

}  // namespace whilst_bench
