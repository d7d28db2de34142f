#include "minimize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "apps/common/pictures/plot.hpp"
#include "apps/common/program.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "kernels/problems/test_problems/test_problems.hpp"
#include "whilst/error.hpp"
#include "whilst/matrix_market.hpp"

namespace whilst::command {
namespace {

std::string minima_text(const test_functions::published_minima& minima) {
  std::string text = fmt::format("{:g}", minima.global);
  for (const double local : minima.local) fmt::format_to(std::back_inserter(text), ", {:g}", local);
  return text;
}

int list_functions() {
  fmt::print(
      "Functions, to be named as NAME or, where any size will do, NAME:N (extended-rosenbrock:1000):\n\n"
      "  {:<38} {:>3}  {:<25} {}\n",
      "name", "n", "minima, global and others", "sizes");
  for (const test_problem& problem : test_problems()) {
    const bool is_first = find_test_problem(problem.name).n == problem.n;
    const std::string sizes = problem.multiple == 0   ? ""
                              : problem.multiple == 1 ? "any"
                                                      : fmt::format("any multiple of {}", problem.multiple);
    print_line(fmt::format("  {:<38} {:>3}  {:<25} {}",
                           is_first ? problem.name : fmt::format("{}:{}", problem.name, problem.n), problem.n,
                           minima_text(problem.minima), sizes));
  }
  fmt::print(
      "\nThey are sums of squares, without a factor 1/2: the problems of J. J. More, B. S. Garbow, K. E. Hillstrom,\n"
      "ACM Transactions on Mathematical Software 7 (1981), in its order.\n");
  return succeeded;
}

const std::vector<std::string> with_hessian{"newton", "newton-cg", "trust-region", "levenberg-marquardt", "dogleg"};
const std::vector<std::string> with_damping{"levenberg-marquardt"};

/// Applies the options for certain methods; throws whilst::error if one was given that the method ignores.
minimizer_options solver_options(const minimize_options& given) {
  minimizer_options solver = given.solver;
  const auto take = [&](const char* option, bool is_given, const std::vector<std::string>& methods, auto& target,
                        const auto& value) {
    if (!is_given) return;
    require_method("minimize", option, solver.method, methods);
    target = value;
  };
  take("--hessian", !given.hessian.empty(), with_hessian, solver.hessian, given.hessian);
  take("--damping", !given.damping.empty(), with_damping, solver.damping, given.damping);
  take("--first-damping", given.first_damping > 0, with_damping, solver.first_damping, given.first_damping);
  return solver;
}

void print_header(std::FILE* out, const minimize_options& options, const minimizer_options& solver,
                  const test_problem& problem, const std::string& executor) {
  fmt::print(out, "function     {}: {}, {}, {} squared; problem {} of More, Garbow and Hillstrom\n", problem.name,
             problem.title, counted(problem.n, "unknown"), counted(problem.residuals, "residual"), problem.number);
  print_start(out, options, executor);
  std::string method = solver.method + ", " + solver.line_search;
  if (!options.hessian.empty()) method += ", hessian " + options.hessian;
  if (is_one_of(solver.method, with_damping))
    method += fmt::format(", damping {} from {:g}", solver.damping, solver.first_damping);
  const descent_tolerances& t = solver.tolerances;
  print_solver(out, method,
               {{t.gradient, "||g|| <=", ""},
                {t.relative_gradient, "||g|| <=", " ||g at the start||"},
                {t.step, "||step|| <=", " ||x||"},
                {t.function, "a gain <=", " |f|"}},
               solver.max_iterations, solver.deadline);
  print_executor(out, executor, solver.executor);
}

constexpr history_words gradient_history{true, "||g||", "gradient_norm"};

/// What to try after a minimization that ended like this; empty if there is no general advice.
std::string advice(const minimize_options& options, reason why) {
  switch (why) {
    case reason::iteration_limit:
      return options.solver.method == "gradient-descent" ? "try --method lbfgs, or a larger --max-iterations"
                                                         : "try a larger --max-iterations, or another --method";
    case reason::deadline:
      return "try a longer --deadline";
    case reason::line_search_failed:
      return "rounding may hide what is left to gain: try a larger --gradient-tolerance, or another --line-search";
    case reason::nan_or_infinity:
      return "f or its gradient is not finite at the start: try a --start-factor nearer to 1";
    default:
      return "";
  }
}

void print_result(std::FILE* out, const minimize_options& options, const test_problem& problem,
                  const minimize_report& result, double seconds_per_evaluation) {
  fmt::print(out, "result       {}: {}\n", name(result.reason()), sentence(result.reason()));
  const std::string cure = advice(options, result.reason());
  if (!cure.empty()) fmt::print(out, "             {}\n", cure);
  if (!result.note().empty()) fmt::print(out, "note         {}\n", result.note());
  fmt::print(out, "iterations   {}, with {} of f and its gradient", result.iterations(),
             counted(result.evaluations, "evaluation"));
  if (result.trial_values > 0) fmt::print(out, ", {} of f alone", counted(result.trial_values, "value"));
  if (result.inner_iterations > 0)
    fmt::print(out, ", {} of the loop within", counted(result.inner_iterations, "iteration"));
  if (result.restarts > 0) fmt::print(out, ", {} from steepest descent", counted(result.restarts, "restart"));
  if (result.evaluations == 0) {
    fmt::print(out, "\nf            unknown\n");
  } else {
    fmt::print(out, "\nf            {:.10g}, {}; published: {}\n", result.value,
               is_published_minimum(result.value, problem.minima) ? "a published minimum" : "not a published minimum",
               minima_text(problem.minima));
    fmt::print(out, "gradient     ||g|| {:.3e}, at the start {:.3e}\n", result.residual_norm(), result.rhs_norm());
  }
  fmt::print(out, "time         set-up {}, solve {}, {} an evaluation\n", duration(result.setup_seconds()),
             duration(result.solve_seconds()), duration(seconds_per_evaluation));
}

json result_json(const minimize_options& options, const minimizer_options& solver, const test_problem& problem,
                 const minimize_report& result, double seconds_per_evaluation) {
  json document = report_json(result);
  for (const char* of_linear_systems : {"preconditioner", "nnz", "relative_residual", "rhs_norm"})
    document.erase(of_linear_systems);
  document["message"] = result.message();
  document["seconds_per_evaluation"] = seconds_per_evaluation;
  document["line_search"] = solver.line_search;
  const bool has_hessian = is_one_of(solver.method, with_hessian), has_damping = is_one_of(solver.method, with_damping);
  document["hessian"] = has_hessian ? json(solver.hessian) : json();
  document["damping"] = has_damping ? json(solver.damping) : json();
  document["first_damping"] = has_damping ? json(solver.first_damping) : json();
  document["function"] = problem.name;
  document["start_factor"] = options.start_factor;
  const bool is_known = result.evaluations > 0;  // otherwise null
  document["value"] = is_known ? json(result.value) : json();
  document["published_minimum"] = problem.minima.global;
  document["other_published"] = problem.minima.local;
  document["at_published_minimum"] = is_known && is_published_minimum(result.value, problem.minima);
  document["gradient_norm"] = is_known ? json(result.residual_norm()) : json();
  document["first_gradient_norm"] = is_known ? json(result.rhs_norm()) : json();
  document["evaluations"] = result.evaluations;
  document["trial_values"] = result.trial_values;
  document["inner_iterations"] = result.inner_iterations;
  document["restarts"] = result.restarts;
  document["history"] = records_json(result.records, gradient_history);
  return document;
}

std::string picture(const minimize_options& options, const test_problem& problem, const minimize_report& result) {
  // ||g|| itself goes up and down by orders of magnitude while f keeps falling: see --history.
  std::vector<convergence_curve> curves{{"lowest ||g|| so far", {}, 1}, {"f less the minimum", {}, 1}};
  double lowest = HUGE_VAL;
  for (const descent_record& record : result.records) {
    lowest = std::min(lowest, record.gradient_norm);
    curves[0].history.push_back({record.iteration, lowest});
    curves[1].history.push_back({record.iteration, record.value - problem.minima.global});
  }
  // Where the minimization stops: whichever of the two tests comes first.
  const descent_tolerances& t = options.solver.tolerances;
  const double tolerance = std::max(t.gradient, t.relative_gradient * result.rhs_norm());
  return convergence_svg(
      fmt::format("{}, n = {}: {} ({})", problem.title, problem.n, result.method(), result.executor()), curves,
      tolerance, {.quantity = "gradient norm, and f less its published minimum", .zero = "0"});
}

}  // namespace

int run_minimize(const minimize_options& options) {
  if (options.list) return list_functions();
  const bundled_files files(options);
  std::FILE* out = files.report.text();
  const minimizer_options solver = solver_options(options);
  const auto [name, n] = parse_problem("minimize", "function", options.problem, "extended-rosenbrock:1000");
  const test_problem problem = find_test_problem(name, n);
  const auto f = make_test_problem(place_of_executor(solver.executor, options.device), problem.name, problem.n);
  minimizer<double> minimizer(*f, solver);
  print_header(out, options, solver, problem, minimizer.executor());
  std::fflush(out);

  std::vector<double> x = start_of(problem.start, options);
  const minimize_report result = solve_with_progress(minimizer, x, gradient_history.norm, options.monitor);
  const double seconds_per_evaluation =
      result.evaluations > 0 ? result.solve_seconds() / static_cast<double>(result.evaluations) : 0;
  if (options.monitor) print_history(out, result.records, gradient_history);
  print_result(out, options, problem, result, seconds_per_evaluation);

  files.report.write(result_json(options, solver, problem, result, seconds_per_evaluation));
  files.history.write(records_csv(result.records, gradient_history));
  if (files.plot.wanted()) files.plot.write(picture(options, problem, result));
  files.output.write_with([&](const std::string& path) { write_vector<double>(path, x); });
  return result.converged() ? succeeded : not_converged;
}

}  // namespace whilst::command
