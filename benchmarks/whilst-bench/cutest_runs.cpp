#include "benchmarks/whilst-bench/cutest_runs.hpp"

#include <algorithm>
#include <chrono>

#include "benchmarks/whilst-bench/suite.hpp"
#include "solvers/nonlinear/minimize/recorded_minimization.hpp"
#include "whilst/error.hpp"
#include "whilst/minimizer.hpp"

namespace whilst_bench {
const std::vector<std::string>& minimizer_methods() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& method : whilst::descent_methods<double>) names.emplace_back(method.name);
    return names;
  }();
  return all;
}

bool takes(const std::string& method, whilst::index_type n, const cutest_options& options) {
  for (const auto& known : whilst::descent_methods<double>)
    if (known.name == method && known.most_unknowns != whilst::any_number_of_unknowns)
      return n <= std::min(known.most_unknowns, options.dense_limit);
  return true;
}

cutest_run run_minimizer(const cutest_case& from, const whilst::objective<double>& f, const std::string& method,
                         const cutest_options& options, const whilst::command::interrupt_watch& interrupts) {
  using clock = std::chrono::steady_clock;
  cutest_run run{.method = method, .executor = options.executor, .reason = "not_run", .message = "interrupted"};
  if (interrupts.interrupted()) return run;
  try {
    const auto made = clock::now();
    whilst::minimizer<double> minimizer(f, {.method = method,
                                            .line_search = options.line_search,
                                            .tolerances = {.gradient = options.gradient_tolerance},
                                            .max_iterations = options.max_iterations,
                                            .deadline = options.deadline,
                                            .executor = options.executor});
    run.setup_seconds = std::chrono::duration<double>(clock::now() - made).count();
    const auto solve = [&] {
      std::vector<double> x = from.problem->start(from.n);
      const auto begin = clock::now();
      const whilst::minimize_report report = minimizer.solve(x);
      const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
      run.executor = report.executor();
      run.reason = name(report.reason());
      run.message = report.message();
      run.iterations = report.iterations();
      run.evaluations = report.evaluations;
      run.reported_gradient = report.residual_norm();
      run.at_end = gradient_at(*from.problem, x);
      run.claims = report.reason() == whilst::reason::converged_gradient;
      // A minimizer may also stop where rounding hides what f would gain: it says so, and has solved the problem if the
      // gradient happens to be small enough.
      run.solved = report.converged() && run.at_end.within(options.gradient_tolerance);
      return seconds;
    };
    whilst::command::cancel_on_interrupt(interrupts, minimizer, [&] { repeat(run, options.repetitions, solve); });
  } catch (const whilst::error& problem) {
    run.reason = "error";
    run.message = problem.what();
  }
  return run;
}

}  // namespace whilst_bench
