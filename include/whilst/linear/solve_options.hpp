#pragma once

#include <string_view>

#include "whilst/engine/program.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Options of every kind of linear solver, checked and turned into what a recorded solve wants. `doing` opens the
/// message of an exception: "making a linear solver".

/// Throws whilst::error on a value that cannot be meant.
void check_options(std::string_view doing, const linear_solver_options& options);

/// What they say of where to run.
inline executor_wish wish_of(const linear_solver_options& options) {
  return {options.executor, options.device, options.callback_memory};
}

/// "none" or "jacobi".
preconditioner_kind preconditioner_from_name(std::string_view doing, std::string_view asked);

/// The registered method of that name; throws whilst::error that lists them.
template <class T>
const linear_method<T>& method_from_name(std::string_view doing, std::string_view asked) {
  std::string all;
  for (const linear_method<T>& known : linear_methods<T>) {
    if (asked == known.name) return known;
    all.append(all.empty() ? "" : ", ").append(known.name);
  }
  throw error(doing, "there is no method called '" + std::string(asked) + "'", "Use one of " + all);
}

/// What the two loops of a launch obey.
control_settings outer_settings(const linear_solver_options& options, std::uint64_t launch);
control_settings inner_settings(const linear_solver_options& options);

/// Records of the history: an even number, since it is halved when full.
inline index_type history_records(const linear_solver_options& options) { return options.history_capacity / 2 * 2; }

/// How a recorded solve is run: one that is a kernel by itself is launched like a step.
run_settings settings_of_run(const linear_solver_options& options, place where, executor how, bool in_kernel);

}  // namespace whilst
