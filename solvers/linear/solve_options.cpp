#include "whilst/linear/solve_options.hpp"

#include <cmath>

#include "solvers/host/deadline.hpp"

namespace whilst {

namespace {

/// Restarts are few: each at least halves the true residual.
constexpr index_type most_restarts = 200;

}  // namespace

void check_options(std::string_view doing, const linear_solver_options& options) {
  const auto refuse = [&](std::string_view what, std::string_view cure) { throw error(doing, what, cure); };
  if (!(options.rtol >= 0) || !(options.atol >= 0)) refuse("a tolerance is negative or not a number", "Use 0 or more");
  if (std::isinf(options.rtol) || std::isinf(options.atol))
    refuse("a tolerance is infinite, so that any x would do", "Use a finite one, as rtol = 1e-8");
  if (!(options.dtol > 0)) refuse("dtol is not above 0", "Use a large factor, as 1e8, or infinity");
  if (options.max_iterations < 0) refuse("max_iterations is negative", "Use 0 or more");
  if (!(options.deadline > 0)) refuse("the deadline is not above 0 seconds", "Use infinity for none");
  if (options.unroll < 0 || options.unroll > 1024) refuse("unroll is not within 0 to 1024", "Use 0 to let it choose");
  const auto& memory = options.callback_memory;
  if (memory != "any" && memory != "host" && memory != "device")
    refuse("there is no callback_memory called '" + memory + "'", "Use one of any, host, device");
  if (options.history_capacity < 2) refuse("history_capacity is below 2", "Use 4096, say");
  check_host_threads(std::string(doing), options.threads);
}

preconditioner_kind preconditioner_from_name(std::string_view doing, std::string_view asked) {
  if (asked == "none") return preconditioner_kind::none;
  if (asked == "jacobi") return preconditioner_kind::jacobi;
  throw error(doing, "there is no preconditioner called '" + std::string(asked) + "'",
              "Use one of none, jacobi; a linear_solver also takes a callback");
}

control_settings outer_settings(const linear_solver_options& options, std::uint64_t launch) {
  control_settings made;
  made.limit = most_restarts;
  made.rtol = options.rtol;
  made.atol = options.atol;
  made.dtol = options.dtol;
  made.deadline_nanoseconds = nanoseconds_of(options.deadline);
  made.launch = launch;
  return made;
}

control_settings inner_settings(const linear_solver_options& options) {
  control_settings made;
  made.limit = options.max_iterations;
  return made;
}

run_settings settings_of_run(const linear_solver_options& options, place where, executor how, bool in_kernel) {
  return {.how = where.on_host() ? executor::host
                 : in_kernel     ? executor::stream
                                 : how,
          .unroll = options.unroll,
          .programmatic_launch = options.programmatic_launch,
          .threads = options.threads};
}

}  // namespace whilst
