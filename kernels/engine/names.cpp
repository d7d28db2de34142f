#include <array>
#include <string>

#include "whilst/basics/error.hpp"
#include "whilst/engine/control/reason.hpp"
#include "whilst/engine/executor.hpp"

namespace whilst {

std::string_view name(reason why) {
  switch (why) {
    case reason::running:
      return "running";
    case reason::converged_normal:
      return "converged_normal";
    case reason::converged_rtol:
      return "converged_rtol";
    case reason::converged_atol:
      return "converged_atol";
    case reason::completed:
      return "completed";
    case reason::converged_gradient:
      return "converged_gradient";
    case reason::converged_step:
      return "converged_step";
    case reason::converged_function:
      return "converged_function";
    case reason::iteration_limit:
      return "iteration_limit";
    case reason::divergence:
      return "divergence";
    case reason::breakdown:
      return "breakdown";
    case reason::indefinite_preconditioner:
      return "indefinite_preconditioner";
    case reason::nan_or_infinity:
      return "nan_or_infinity";
    case reason::indefinite_operator:
      return "indefinite_operator";
    case reason::stagnation:
      return "stagnation";
    case reason::attainable_accuracy:
      return "attainable_accuracy";
    case reason::radius_too_small:
      return "radius_too_small";
    case reason::line_search_failed:
      return "line_search_failed";
    case reason::unbounded:
      return "unbounded";
    case reason::singular_jacobian:
      return "singular_jacobian";
    case reason::deadline:
      return "deadline";
    case reason::cancelled:
      return "cancelled";
    case reason::yielded:
      return "yielded";
    case reason::peer_lost:
      return "peer_lost";
  }
  return "unknown";
}

std::string_view sentence(reason why) {
  switch (why) {
    case reason::running:
      return "the loop is still running";
    case reason::converged_normal:
      return "the residual is orthogonal to the columns of the matrix, as far as rtol asks";
    case reason::converged_rtol:
      return "the residual fell to rtol times the norm of the right-hand side";
    case reason::converged_atol:
      return "the residual fell to atol";
    case reason::completed:
      return "the loop did what it was asked to";
    case reason::converged_gradient:
      return "the gradient vanishes, as far as the tolerance asks";
    case reason::converged_step:
      return "the steps have become too short to change the unknowns";
    case reason::converged_function:
      return "no step promises to reduce the function any more";
    case reason::iteration_limit:
      return "the iteration limit was reached first";
    case reason::divergence:
      return "the residual grew beyond dtol times its reference";
    case reason::breakdown:
      return "a scalar of the method became zero or overflowed, so that no next step exists";
    case reason::indefinite_preconditioner:
      return "the preconditioner is not positive definite, as the method demands";
    case reason::nan_or_infinity:
      return "a value that is not a number or not finite appeared";
    case reason::indefinite_operator:
      return "the matrix is not positive definite, as the method demands";
    case reason::stagnation:
      return "no further progress: the method found no step that reduces the residual";
    case reason::attainable_accuracy:
      return "rounding keeps the true residual above the tolerance: restarting from x brought no more progress";
    case reason::radius_too_small:
      return "no step, however short, reduced the function";
    case reason::line_search_failed:
      return "the line search found no step to take";
    case reason::unbounded:
      return "the function falls below its bound: it seems to have no minimum";
    case reason::singular_jacobian:
      return "the Jacobian has no inverse, as far as rounding tells, so that there is no Newton step";
    case reason::deadline:
      return "the deadline passed";
    case reason::cancelled:
      return "the solve was cancelled";
    case reason::yielded:
      return "the loop yielded to the host, and can be resumed";
    case reason::peer_lost:
      return "a rank of the group did not come";
  }
  return "unknown reason";
}

namespace {

struct named_executor {
  executor which;
  std::string_view text;
};
constexpr std::array<named_executor, 6> executors = {{{executor::automatic, "auto"},
                                                      {executor::host, "host"},
                                                      {executor::stream, "stream"},
                                                      {executor::graph, "graph"},
                                                      {executor::resident, "resident"},
                                                      {executor::batch, "batch"}}};

}  // namespace

std::string_view name(executor which) {
  for (const named_executor& known : executors)
    if (known.which == which) return known.text;
  return "unknown";
}

executor executor_from_name(std::string_view text) {
  std::string all;
  for (const named_executor& known : executors) {
    if (known.text == text) return known.which;
    all.append(all.empty() ? "" : ", ").append(known.text);
  }
  throw error("choosing an executor", "there is none called '" + std::string(text) + "'", "Use one of " + all);
}

}  // namespace whilst
