#include <fmt/format.h>

#include "apps/common/progress.hpp"
#include "command.hpp"
#include "header.hpp"
#include "input.hpp"
#include "ranks/solve_on_ranks.hpp"
#include "results.hpp"
#include "solve_columns.hpp"
#include "solve_results.hpp"

namespace whilst::command {
namespace {

template <class T>
report solve_with_progress(linear_solver<T>& solver, const std::vector<T>& b, std::vector<T>& x, bool log) {
  const double rhs_norm = norm_of(b);
  const auto line = [&](const progress& now) { return progress_line(now, rhs_norm); };
  report result;
  run_with_progress(
      solver, [&] { result = solver.solve(b, x); }, line, log);
  return result;
}

template <class T>
int solve_in(const solve_options& options) {
  const result_files files(options);
  std::FILE* out = files.report.text();
  const linear_system<T> system = load_system<T>(options);
  if (system.columns > 1) return solve_columns(system, options, files);
  const machine_description machine = describe_machine(options.solver.device);
  linear_solver<T> solver(system.A, with_nodes(system, options.solver));
  print_header(out, system, options, machine, solver.executor());
  fmt::print(out, "executor     {}{}\n", solver.executor(),
             solver.executor() == options.solver.executor ? "" : " (asked for: " + options.solver.executor + ")");
  std::fflush(out);

  std::vector<T> x(static_cast<std::size_t>(system.A.columns()), T(0));
  const report result = solve_with_progress(solver, system.b, x, options.monitor);
  tell_results(system, options, files, result, x, options.explain ? solver.explain() : "");
  return result.converged() ? succeeded : not_converged;
}

}  // namespace

int run_solve(const solve_options& given) {
  if (!given.ranks.empty()) return run_solve_on_ranks(given);
  if (given.solver.transport != "auto") throw error("--transport", "there are no ranks", "Give --ranks, too");
  const solve_options options = with_vectors(given);
  return options.precision == "float" ? solve_in<float>(options) : solve_in<double>(options);
}

}  // namespace whilst::command
