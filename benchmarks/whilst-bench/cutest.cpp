#include "benchmarks/whilst-bench/cutest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "apps/common/json_file.hpp"
#include "apps/common/program.hpp"
#include "apps/common/progress.hpp"
#include "benchmarks/whilst-bench/cutest_table.hpp"
#include "benchmarks/whilst-bench/suite.hpp"
#include "whilst/error.hpp"
#include "whilst/place_of_executor.hpp"

namespace whilst_bench {
namespace {

using namespace whilst::command;

/// Those with a minimum.
std::vector<std::string> known_problems() {
  std::vector<std::string> names;
  for (const whilst::cutest_problem& problem : whilst::cutest_problems())
    if (!problem.is_unbounded) names.emplace_back(problem.name);
  return names;
}

/// Every problem at every size, each with the next larger number of unknowns that it may have.
std::vector<cutest_case> find_cases(const cutest_options& options) {
  std::vector<std::string> wanted = options.problems;
  for (std::string& name : wanted)
    if (name != "all")
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (options.sizes.empty()) throw whilst::error("--sizes", "there is none", "Give some, as 100,1000");
  std::vector<cutest_case> cases;
  for (const std::string& name : chosen("--problems", "problem", wanted, known_problems())) {
    const whilst::cutest_problem& problem = whilst::find_cutest_problem(name);
    std::vector<whilst::index_type> sizes;
    for (const whilst::index_type size : options.sizes) sizes.push_back(problem.size_from(size));
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (const whilst::index_type n : sizes) cases.push_back({&problem, n});
  }
  return cases;
}

/// Those that take some case.
std::vector<std::string> find_methods(const cutest_options& options, const std::vector<cutest_case>& cases) {
  std::vector<std::string> methods = chosen("--methods", "method", options.methods, minimizer_methods());
  std::erase_if(methods, [&](const std::string& method) {
    if (std::any_of(cases.begin(), cases.end(), [&](const cutest_case& one) { return takes(method, one.n, options); }))
      return false;
    if (std::find(options.methods.begin(), options.methods.end(), method) == options.methods.end()) return true;
    throw whilst::error(
        "--methods " + method, "it keeps n * n numbers, and every problem here has too many unknowns",
        fmt::format("Give smaller --sizes, a larger --dense-limit than {}, or leave it out", options.dense_limit));
  });
  return methods;
}

cutest_entry run_case(const cutest_case& from, const std::vector<std::string>& methods, const cutest_options& options,
                      const interrupt_watch& interrupts, const std::function<void(const std::string&)>& show) {
  cutest_entry entry{from, {}};
  const auto f = from.problem->make(whilst::place_of_executor(options.executor), from.n);
  for (const std::string& method : methods) {
    if (!takes(method, from.n, options)) continue;
    show(method);
    entry.runs.push_back(run_minimizer(from, *f, method, options, interrupts));
  }
  return entry;
}

cutest_results run_all(const std::vector<cutest_case>& cases, std::vector<std::string> methods,
                       const cutest_options& options, std::FILE* out) {
  cutest_results results{std::move(methods), {}, {}};
  const interrupt_watch interrupts;
  status_line status;
  print_cutest_head(out, options, results);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const std::string name = fmt::format("{}, n {}", cases[k].problem->name, cases[k].n);
    if (interrupts.interrupted()) {
      results.left_out.push_back(name);
      continue;
    }
    cutest_entry entry = run_case(cases[k], results.methods, options, interrupts, [&](const std::string& method) {
      status.show(fmt::format("{} of {}, {}: {} (Ctrl-C stops)", k + 1, cases.size(), name, method));
    });
    status.show("");
    print_cutest_row(out, results, entry);
    results.entries.push_back(std::move(entry));
  }
  return results;
}

}  // namespace

int run_cutest(const cutest_options& options) {
  const output_file profile("--profile", options.profile);
  const json_destination report(options.json, {&profile});
  require_different_files({}, {&report.file(), &profile});
  require_executor(options.executor);
  const std::vector<cutest_case> cases = find_cases(options);
  const std::vector<std::string> methods = find_methods(options, cases);

  std::FILE* const out = report.text();
  const cutest_results results = run_all(cases, methods, options, out);
  print_cutest_summary(out, options, results);
  report.write(cutest_json(options, results));
  if (profile.wanted()) profile.write(cutest_profile(options, results));
  require_standard_output();
  if (results.false_claims() > 0) return claimed_falsely;
  return results.left_out.empty() && results.solved() == results.runs() ? succeeded : not_converged;
}

}  // namespace whilst_bench
