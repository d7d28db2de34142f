#include "apps/whilst/ranks/solve_on_ranks.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "apps/common/interrupts.hpp"
#include "apps/common/progress.hpp"
#include "apps/whilst/header.hpp"
#include "apps/whilst/ranks/solver_on_ranks.hpp"
#include "apps/whilst/results.hpp"
#include "apps/whilst/solve_results.hpp"
#include "benchmarks/common/ranks.hpp"

namespace whilst::command {
namespace {

/// What rank 0 alone has.
template <class T>
struct work_of_first {
  explicit work_of_first(const solve_options& options)
      : files(require_what_ranks_have(options)), system(load_system_of_ranks<T>(options)) {}
  result_files files;
  linear_system<T> system;
};

template <class T>
void print_head(std::FILE* out, const solve_options& options, const linear_system<T>& system,
                solver_on_ranks<T>& solving) {
  const std::string executor = solving.solver().executor();
  print_header(out, system, options, solving.machine(), executor);
  solving.print_ranks(out);
  fmt::print(out, "executor     {}{}\n", executor,
             executor == options.solver.executor ? "" : " (asked for: " + options.solver.executor + ")");
  std::fflush(out);
}

/// Rank 0 shows progress. All processes heed interrupts, which mpirun sends to each; threads have one for all.
template <class T>
report solve_on_rank(solver_on_ranks<T>& solving, const linear_system<T>* system, bool log) {
  report result;
  const auto work = [&] { result = solving.solve(); };
  if (system) {
    const double rhs_norm = norm_of(system->b);
    run_with_progress(
        solving.solver(), work, [&](const progress& now) { return progress_line(now, rhs_norm); }, log);
  } else if (solving.by_processes()) {
    const interrupt_watch interrupts;
    cancel_on_interrupt(interrupts, solving.solver(), work);
  } else {
    work();
  }
  return result;
}

template <class T>
int solve_in(const group& ranks, int gpu, const solve_options& options) {
  std::optional<work_of_first<T>> first;
  if (ranks.rank() == 0) first.emplace(options);
  const linear_system<T>* const system = first ? &first->system : nullptr;
  solver_on_ranks<T> solving(ranks, gpu, options, system);
  if (first) print_head(first->files.report.text(), options, *system, solving);
  const report result = solve_on_rank(solving, system, options.monitor);
  const std::vector<T> x = solving.gathered_x();
  if (first)
    tell_results(*system, options, first->files, result, x, options.explain ? solving.solver().explain() : "",
                 solving.ranks_json());
  return result.converged() ? succeeded : not_converged;
}

}  // namespace

int run_solve_on_ranks(const solve_options& options) {
  return run_ranks(ranks_from(options.ranks), [&](const group& ranks, int gpu) {
    return options.precision == "float" ? solve_in<float>(ranks, gpu, options) : solve_in<double>(ranks, gpu, options);
  });
}

}  // namespace whilst::command
