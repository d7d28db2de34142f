#include "solve_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/common/history.hpp"
#include "apps/common/pictures/plot.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/linear/solve_options.hpp"
#include "whilst/matrix_market.hpp"

namespace whilst::command {
namespace {

/// The incomplete factors that suit a method; empty where none can be had.
std::string incomplete_factors_for(const method_needs& method, const linear_solver_options& solver) {
  if (solver.executor == "resident" || solver.scaling != "none" || solver.matrix_values != "exact" || method.transpose)
    return "";
  return method.symmetric ? "ic" : "ilu";
}
/// Those that may save iterations, or what to change in the one that was taken.
std::string preconditioners_beyond(const method_needs& method, const linear_solver_options& solver) {
  const preconditioner_choice taken = chosen_preconditioner("looking for advice", solver);
  if (taken.name == "auto") return "";  // it has tried
  if (taken.name == "ilu" && method.symmetric) return "ic";
  if (taken.name == "ilu" || taken.name == "ic")
    return taken.name + (taken.options.ilu.levels >= 0 ? " with more levels" : " with a smaller drop or a larger fill");
  const std::string incomplete = incomplete_factors_for(method, solver);
  if (taken.name == "fsai" || taken.name == "spai") return "amg or " + incomplete;
  if (taken.name == "amg") return incomplete;
  if (taken.name != "none") return incomplete.empty() ? "" : "amg or " + incomplete;
  return incomplete.empty() ? "jacobi" : "jacobi, amg or " + incomplete;
}
/// Those with which a method may go on that broke down or stagnated.
std::string other_preconditioners(const method_needs& method, const linear_solver_options& solver) {
  const std::string_view taken = name_of_preconditioner(solver);
  const std::string other = taken == "none" ? "jacobi" : "none";
  return incomplete_factors_for(method, solver) == "ilu" && taken != "ilu" ? other + " or ilu" : other;
}

/// What to try after a solve that ended like this, by a method with these needs; empty if there is no general advice.
std::string advice(const solve_options& options, const method_needs& needs, reason why) {
  const std::string method = options.solver.method;
  const bool has_tried_all = options.solver.preconditioner == "auto";
  if (has_tried_all && why != reason::iteration_limit && why != reason::deadline && why != reason::nan_or_infinity &&
      why != reason::attainable_accuracy)
    return method == "auto" ? "no pair of method and preconditioner solved it: is the matrix singular?"
                            : "try --method auto, too";
  switch (why) {
    case reason::iteration_limit: {
      const std::string better = preconditioners_beyond(needs, options.solver);
      return (better.empty() ? "try " : "try --preconditioner " + better + ", or ") + "a larger --max-iterations";
    }
    case reason::deadline:
      return "try a longer --deadline";
    case reason::indefinite_operator:
      return "the matrix is not positive definite: try --method bicgstab";
    case reason::indefinite_preconditioner:
      if (name_of_preconditioner(options.solver) == "spai")
        return "spai is not symmetric: try --preconditioner fsai, or --method bicgstab";
      return name_of_preconditioner(options.solver) == "ilu"
                 ? "ilu is not symmetric: try --preconditioner ic, or --method bicgstab"
                 : "try --preconditioner none, or --method bicgstab";
    case reason::divergence:
    case reason::breakdown:
      return method == "cg" ? "cg needs a symmetric positive definite matrix: try --method bicgstab"
                            : "try --preconditioner " + other_preconditioners(needs, options.solver);
    case reason::nan_or_infinity:
      return "look for NaN, infinity or zero rows in the matrix and the right side";
    case reason::stagnation:
      return "try --preconditioner " + other_preconditioners(needs, options.solver) +
             ", or a larger --rtol if the residual below will do";
    case reason::attainable_accuracy:
      if (options.solver.matrix_values == "float") return "try --matrix-values exact, or a larger --rtol";
      return options.precision == "float" ? "try --precision double, or a larger --rtol" : "try a larger --rtol";
    default:
      return "";
  }
}

template <class T>
method_needs needs_of(std::string_view method) {
  return method_from_name<T>("looking for advice", method).needs;
}

template <class T>
void print_quantity(std::FILE* out, const gallery_quantity<T>& quantity, double value) {
  fmt::print(out, "quantity     {}: {:.6g} {} computed, {:.6g} {} by {} ({:+.2f} %)\n", quantity.name, value,
             quantity.unit, quantity.expected, quantity.unit, quantity.theory, 100 * (value / quantity.expected - 1));
}

/// The file format has no NaN or infinity. A failed solve may leave them, and its report says why it failed.
template <class T>
void require_finite(const std::vector<T>& x, reason why) {
  const auto entry = std::find_if(x.begin(), x.end(), [](T value) { return !std::isfinite(value); });
  if (entry == x.end()) return;
  throw error("writing x", fmt::format("its entry {} (from 0) is {}", entry - x.begin(), *entry),
              fmt::format("The solve ended with {}, and there is no x to write", name(why)));
}

}  // namespace

template <class T>
void tell_results(const linear_system<T>& system, const solve_options& options, const result_files& files,
                  const report& result, const std::vector<T>& x, const std::string& explained, const json& more) {
  std::FILE* const out = files.report.text();
  if (options.monitor) print_history(out, result);

  const double true_residual = true_relative_residual<T>(system, x);
  const double tolerance = relative_tolerance(options, result.rhs_norm());
  fmt::print(out, "result       {}: {}\n", name(result.reason()), sentence(result.reason()));
  // On several ranks there is less to choose from.
  const std::string cure = options.ranks.empty() ? advice(options, needs_of<T>(result.method()), result.reason()) : "";
  if (!cure.empty()) fmt::print(out, "             {}\n", cure);
  if (!result.choice().empty()) fmt::print(out, "method       {}\n", result.choice());
  const std::string& format = result.format_choice().empty() ? result.format() : result.format_choice();
  if (!format.empty()) fmt::print(out, "format       {}\n", format);  // several ranks have no choice
  if (!result.preconditioner_choice().empty()) fmt::print(out, "M            {}\n", result.preconditioner_choice());
  if (options.solver.scaling != "none") fmt::print(out, "scaling      {}\n", options.solver.scaling);
  if (options.solver.permutation != "none") fmt::print(out, "permutation  {}\n", options.solver.permutation);
  if (options.solver.matrix_values != "exact") fmt::print(out, "values       in {}\n", options.solver.matrix_values);
  if (!result.note().empty()) fmt::print(out, "note         {}\n", result.note());
  if (!system.null_space.empty())
    fmt::print(out, "null space   {}; the part of b in it has norm {:.3e} and was left out\n",
               options.solver.null_space, result.removed_norm());
  fmt::print(out, "iterations   {}\n", result.iterations());
  fmt::print(out, "residual     {:.3e} relative, computed here in double; the solver says {:.3e}; asked for {:.3g}\n",
             true_residual, result.relative_residual(), tolerance);
  // Ten times: in float the two may well differ by rounding alone.
  const bool is_normal = result.reason() == reason::converged_normal;
  const double normal_ratio = is_normal ? true_normal_ratio<T>(system, x) : 0;
  if (is_normal)
    fmt::print(out, "normal       {:.3e} is ||A'r|| / ||r|| over ||A'b|| / ||b||, computed here; asked for {:.3g}\n",
               normal_ratio, options.solver.rtol);
  if (result.converged() && !(is_normal ? normal_ratio <= 10 * options.solver.rtol : true_residual <= 10 * tolerance)) {
    fmt::print(out, "warning      the residual computed here is far from what was asked for: do not rely on x\n");
  }
  fmt::print(out, "time         set-up {}, solve {}, {} an iteration\n", duration(result.setup_seconds()),
             duration(result.solve_seconds()), duration(result.seconds_per_iteration()));
  if (!explained.empty()) fmt::print(out, "\n{}", explained);

  json document = report_json(result);
  document["true_relative_residual"] = true_residual;
  if (is_normal) document["true_normal_ratio"] = normal_ratio;
  document["matrix"] = system.name;
  document["scaling"] = options.solver.scaling;
  document["permutation"] = options.solver.permutation;
  document["matrix_values"] = options.solver.matrix_values;
  document["right_side"] = system.rhs_source;
  if (system.quantity) {
    const double value = system.quantity->evaluate(x);
    print_quantity(out, *system.quantity, value);
    document["quantity"] = {{"name", system.quantity->name},
                            {"unit", system.quantity->unit},
                            {"value", value},
                            {"expected", system.quantity->expected},
                            {"theory", system.quantity->theory}};
  }
  document.update(more);
  document["history"] = history_json(result.history());

  files.report.write(document);
  files.history.write(history_csv(result.history()));
  if (files.plot.wanted()) {
    files.plot.write(convergence_svg(fmt::format("{}: {}", system.name, result.method()),
                                     {{result.executor(), result.history(), result.rhs_norm()}}, tolerance));
  }
  files.output.write_with([&](const std::string& path) {
    require_finite(x, result.reason());
    write_vector<T>(path, x);
  });
}

template void tell_results(const linear_system<float>&, const solve_options&, const result_files&, const report&,
                           const std::vector<float>&, const std::string&, const json&);
template void tell_results(const linear_system<double>&, const solve_options&, const result_files&, const report&,
                           const std::vector<double>&, const std::string&, const json&);

}  // namespace whilst::command
