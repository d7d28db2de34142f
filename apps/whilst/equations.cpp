#include "equations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "apps/common/pictures/plot.hpp"
#include "apps/common/program.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "kernels/problems/test_problems/test_systems.hpp"
#include "whilst/error.hpp"
#include "whilst/matrix_market.hpp"

namespace whilst::command {
namespace {

std::string root_text(const test_system& system) {
  const std::vector<double>& root = system.root;
  if (root.empty()) return "";
  if (std::all_of(root.begin(), root.end(), [&](double entry) { return entry == root[0]; }))
    return fmt::format("all {:g}", root[0]);
  std::string text;
  for (const double entry : root) fmt::format_to(std::back_inserter(text), "{}{:g}", text.empty() ? "" : ", ", entry);
  return text;
}

int list_systems() {
  fmt::print(
      "Systems F(x) = 0, to be named as NAME or, where other sizes will do, NAME:N (broyden-tridiagonal:1000):\n\n"
      "  {:<28} {:>3}  {:<22} {}\n",
      "name", "n", "a root", "sizes");
  for (const test_system& system : test_systems())
    print_line(fmt::format("  {:<28} {:>3}  {:<22} {}", system.name, system.n, root_text(system), system.sizes));
  fmt::print(
      "\nAll but the last are from J. J. More, B. S. Garbow, K. E. Hillstrom, ACM Transactions on Mathematical\n"
      "Software 7 (1981), in its order. bratu:N is -u_xx - u_yy = 5 exp(u) on N points of a square, u = 0 around "
      "it.\n");
  return succeeded;
}

const std::vector<std::string> with_inner_loop{"newton-krylov"}, with_differences{"anderson"};

/// Applies the options for certain methods; throws whilst::error if one was given that the method ignores.
nonlinear_solver_options solver_options(const equations_options& given) {
  nonlinear_solver_options solver = given.solver;
  const auto take = [&](const char* option, const std::vector<std::string>& methods, auto& target, auto value) {
    if (value == 0) return;
    require_method("equations", option, solver.method, methods);
    target = value;
  };
  take("--max-inner-iterations", with_inner_loop, solver.max_inner_iterations, given.max_inner_iterations);
  take("--depth", with_differences, solver.depth, given.depth);
  take("--mixing", with_differences, solver.mixing, given.mixing);
  return solver;
}

void print_header(std::FILE* out, const equations_options& options, const nonlinear_solver_options& solver,
                  const test_system& system, const std::string& executor) {
  fmt::print(out, "system       {}: {}, {} in as many unknowns{}\n", system.name, system.title,
             counted(system.n, "equation"),
             system.number > 0 ? fmt::format("; problem {} of More, Garbow and Hillstrom", system.number) : "");
  print_start(out, options, executor);
  std::string method = solver.method;
  if (is_one_of(method, with_differences))
    method += fmt::format(", depth {}, mixing {:g}", solver.depth, solver.mixing);
  if (solver.max_inner_iterations > 0)
    method += fmt::format(", at most {} inner iterations", solver.max_inner_iterations);
  const nonlinear_tolerances& t = solver.tolerances;
  print_solver(
      out, method,
      {{t.atol, "||F|| <=", ""}, {t.rtol, "||F|| <=", " ||F at the start||"}, {t.step, "||step|| <=", " ||x||"}},
      solver.max_iterations, solver.deadline);
  print_executor(out, executor, solver.executor);
}

constexpr history_words residual_history{false, "||F||", "residual_norm"};

/// What to try after a solve that ended like this; empty if there is no general advice.
std::string advice(const nonlinear_solver_options& solver, reason why) {
  const bool is_quasi_newton = solver.method == "broyden" || solver.method == "anderson";
  switch (why) {
    case reason::iteration_limit:
      return is_quasi_newton ? "try --method newton-krylov, or a larger --max-iterations"
                             : "try a larger --max-iterations, or another --start-factor";
    case reason::deadline:
      return "try a longer --deadline";
    case reason::singular_jacobian:
      return "try --method broyden, or another --start-factor";
    case reason::breakdown:
      return "BiCGSTAB found no step that leads down: try --method newton";
    case reason::line_search_failed:
      return "the Jacobian may be singular here, or ||F|| least without a root: try another --method or --start-factor";
    case reason::attainable_accuracy:
      return "rounding may hide what is left: try a larger --atol";
    case reason::nan_or_infinity:
      return "F or its derivatives are not finite there: try another --start-factor or --method";
    default:
      return "";
  }
}

/// The largest difference of an entry from the known root; NaN if none is known.
double distance_to_root(const test_system& system, const std::vector<double>& x) {
  double largest = system.root.empty() ? NAN : 0;
  for (std::size_t j = 0; j < system.root.size(); ++j) largest = std::max(largest, std::abs(x[j] - system.root[j]));
  return largest;
}

void print_result(std::FILE* out, const nonlinear_solver_options& solver, const test_system& system,
                  const nonlinear_report& result, double distance, double seconds_per_evaluation) {
  fmt::print(out, "result       {}: {}\n", name(result.reason()),
             result.reason() == reason::converged_rtol ? "the residual fell to rtol times the first one"
                                                       : sentence(result.reason()));
  const std::string cure = advice(solver, result.reason());
  if (!cure.empty()) fmt::print(out, "             {}\n", cure);
  if (!result.note().empty()) fmt::print(out, "note         {}\n", result.note());
  fmt::print(out, "iterations   {}, with {} of F", result.iterations(), counted(result.evaluations, "evaluation"));
  if (result.inner_iterations > 0)
    fmt::print(out, ", {} of the loop within", counted(result.inner_iterations, "iteration"));
  if (result.restarts > 0) fmt::print(out, ", begun anew {}", counted(result.restarts, "time"));
  fmt::print(out, "\n");
  if (result.evaluations == 0) {
    fmt::print(out, "residual     unknown\n");
  } else {
    fmt::print(out, "residual     ||F|| {:.3e}, at the start {:.3e}\n", result.residual_norm(), result.rhs_norm());
  }
  if (!std::isnan(distance))
    fmt::print(out, "root         one is known: {}; x differs from it by up to {:.3g}\n", root_text(system), distance);
  fmt::print(out, "time         set-up {}, solve {}, {} an evaluation\n", duration(result.setup_seconds()),
             duration(result.solve_seconds()), duration(seconds_per_evaluation));
}

json result_json(const equations_options& options, const nonlinear_solver_options& solver, const test_system& system,
                 const nonlinear_report& result, double distance, double seconds_per_evaluation) {
  json document = report_json(result);
  for (const char* of_linear_systems : {"preconditioner", "nnz", "relative_residual", "rhs_norm"})
    document.erase(of_linear_systems);
  document["message"] = result.message();
  document["seconds_per_evaluation"] = seconds_per_evaluation;
  const bool has_differences = is_one_of(solver.method, with_differences);
  document["depth"] = has_differences ? json(solver.depth) : json();
  document["mixing"] = has_differences ? json(solver.mixing) : json();
  document["system"] = system.name;
  document["start_factor"] = options.start_factor;
  const bool is_known = result.evaluations > 0;  // otherwise null
  document["residual_norm"] = is_known ? json(result.residual_norm()) : json();
  document["first_residual_norm"] = is_known ? json(result.rhs_norm()) : json();
  document["distance_to_known_root"] = distance;  // NaN is null
  document["evaluations"] = result.evaluations;
  document["inner_iterations"] = result.inner_iterations;
  document["restarts"] = result.restarts;
  document["history"] = records_json(result.records, residual_history);
  return document;
}

std::string picture(const nonlinear_solver_options& solver, const test_system& system, const nonlinear_report& result) {
  std::vector<convergence_curve> curves{{"||F||", {}, 1}};
  for (const descent_record& record : result.records)
    curves[0].history.push_back({record.iteration, record.gradient_norm});
  // Where the solve stops: whichever of the two tests comes first.
  const double tolerance = std::max(solver.tolerances.atol, solver.tolerances.rtol * result.rhs_norm());
  return convergence_svg(fmt::format("{}, n = {}: {} ({})", system.title, system.n, result.method(), result.executor()),
                         curves, tolerance, {.quantity = "norm of F", .zero = "0"});
}

}  // namespace

int run_equations(const equations_options& options) {
  if (options.list) return list_systems();
  const bundled_files files(options);
  std::FILE* out = files.report.text();
  const nonlinear_solver_options asked = solver_options(options);
  const auto [name, n] = parse_problem("equations", "system", options.problem, "broyden-tridiagonal:1000");
  const test_system system = find_test_system(name, n);
  const auto F = make_test_system<double>(place_of_executor(asked.executor, options.device), system.name, system.n);
  nonlinear_solver<double> solver(*F, asked);
  print_header(out, options, asked, system, solver.executor());
  std::fflush(out);

  std::vector<double> x = start_of(system.start, options);
  const nonlinear_report result = solve_with_progress(solver, x, residual_history.norm, options.monitor);
  const double seconds_per_evaluation =
      result.evaluations > 0 ? result.solve_seconds() / static_cast<double>(result.evaluations) : 0;
  const double distance = distance_to_root(system, x);
  if (options.monitor) print_history(out, result.records, residual_history);
  print_result(out, asked, system, result, distance, seconds_per_evaluation);

  files.report.write(result_json(options, asked, system, result, distance, seconds_per_evaluation));
  files.history.write(records_csv(result.records, residual_history));
  if (files.plot.wanted()) files.plot.write(picture(asked, system, result));
  files.output.write_with([&](const std::string& path) { write_vector<double>(path, x); });
  return result.converged() ? succeeded : not_converged;
}

}  // namespace whilst::command
