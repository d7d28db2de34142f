#include "whilst/linear/solve_options.hpp"

#include <cmath>

#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/preconditioners/preconditioner_table.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/exchange/transports.hpp"

namespace whilst {

void check_options(std::string_view doing, const linear_solver_options& options) {
  const auto refuse = [&](std::string_view what, std::string_view cure) { throw error(doing, what, cure); };
  if (!(options.rtol >= 0) || !(options.atol >= 0)) refuse("a tolerance is negative or not a number", "Use 0 or more");
  if (std::isinf(options.rtol) || std::isinf(options.atol))
    refuse("a tolerance is infinite, so that any x would do", "Use a finite one, as rtol = 1e-8");
  if (!(options.dtol > 0)) refuse("dtol is not above 0", "Use a large factor, as 1e8, or infinity");
  const auto in_range = [&](const char* name, int value, int most) {
    if (value < 1 || value > most)
      refuse(std::string(name) + " is " + std::to_string(value), "Use 1 to " + std::to_string(most));
  };
  in_range("restart", options.restart, 1000);
  in_range("shadow_dimension", options.shadow_dimension, 16);
  in_range("polynomial_degree", options.polynomial_degree, 8);
  in_range("lanczos_steps", options.lanczos_steps, 64);
  const double least = options.least_eigenvalue, greatest = options.greatest_eigenvalue;
  const bool in_order = least == 0 || greatest == 0 || (least <= greatest && (least > 0) == (greatest > 0));
  if (!std::isfinite(least) || !std::isfinite(greatest) || !in_order)
    refuse("least_eigenvalue is " + std::to_string(least) + " and greatest_eigenvalue is " + std::to_string(greatest),
           "Give the least first, both of one sign, or 0 for one to be estimated");
  const auto& memory = options.callback_memory;
  if (memory != "any" && memory != "host" && memory != "device")
    refuse("there is no callback_memory called '" + memory + "'", "Use one of any, host, device");
  check_format(doing, options.format);
  check_null_space(doing, options);
  check_scaling(doing, options);
  check_permutation(doing, options);
  check_transport(doing, options.transport);
  if (options.history_capacity < 2) refuse("history_capacity is below 2", "Use 4096, say");
  loop_options_of(options).check(doing);
}

preconditioner_kind preconditioner_from_name(std::string_view doing, std::string_view asked) {
  if (asked == "none") return preconditioner_kind::none;
  if (asked == "jacobi") return preconditioner_kind::jacobi;
  std::string made;
  for (const preconditioner_description* const one : preconditioner_table()) made.append(one->name).append(", ");
  throw error(doing, "there is no preconditioner called '" + std::string(asked) + "'",
              "Use one of none, jacobi; a linear_solver also takes " + made + "or a callback");
}

}  // namespace whilst
