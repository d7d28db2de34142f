#pragma once

#include <string_view>

#include "whilst/host/choose_executor.hpp"
#include "whilst/host/prepared_program.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Options of every kind of linear solver, checked and converted for a recorded solve. `doing` opens every error
/// message: "making a linear solver".

/// Throws whilst::error on a value that makes no sense.
void check_options(std::string_view doing, const linear_solver_options& options);

/// Where these options want to run.
inline executor_wish wish_of(const linear_solver_options& options) {
  return {options.executor, options.device, options.callback_memory};
}

/// What of these options a solve is recorded with.
inline method_settings method_settings_of(const linear_solver_options& options) {
  return {options.keep_best,         options.restart,          options.shadow_dimension,
          options.polynomial_degree, options.least_eigenvalue, options.greatest_eigenvalue,
          options.lanczos_steps};
}

/// "none" or "jacobi".
preconditioner_kind preconditioner_from_name(std::string_view doing, std::string_view asked);

/// The registered method of that name; throws whilst::error listing all if there is none.
template <class T>
const linear_method<T>& method_from_name(std::string_view doing, std::string_view asked) {
  std::string all = "auto";
  for (const linear_method<T>& known : linear_methods<T>()) {
    if (asked == known.name) return known;
    all.append(", ").append(known.name);
  }
  throw error(doing, "there is no method called '" + std::string(asked) + "'", "Use one of " + all);
}

/// The options that are not only linear solvers'. History: an even number, since it is halved when full.
inline loop_options loop_options_of(const linear_solver_options& options) {
  loop_options made(options);
  made.history_capacity = made.history_capacity / 2 * 2;
  return made;
}

}  // namespace whilst
