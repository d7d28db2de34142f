#include "minimize.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

#include "apps/common/command_line.hpp"
#include "apps/common/json_file.hpp"
#include "apps/common/output_file.hpp"
#include "apps/common/plot.hpp"
#include "apps/common/program.hpp"
#include "apps/common/progress.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "kernels/test_problems.hpp"
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
    const std::string line = fmt::format("  {:<38} {:>3}  {:<25} {}",
                                         is_first ? problem.name : fmt::format("{}:{}", problem.name, problem.n),
                                         problem.n, minima_text(problem.minima), sizes);
    fmt::print("{}\n", std::string_view(line).substr(0, line.find_last_not_of(' ') + 1));
  }
  fmt::print(
      "\nThey are sums of squares, without a factor 1/2: the problems of J. J. More, B. S. Garbow, K. E. Hillstrom,\n"
      "ACM Transactions on Mathematical Software 7 (1981), in its order.\n");
  return succeeded;
}

test_problem find_function(const std::string& name_and_size) {
  if (name_and_size.empty()) throw error("minimize", "there is no function", "Name one; minimize --list has the names");
  const std::size_t colon = name_and_size.find(':');
  index n = 0;
  if (colon != std::string::npos && (!parsed(std::string_view(name_and_size).substr(colon + 1), n) || n < 1)) {
    throw error("minimize " + name_and_size, "the size is not a whole number above 0",
                "Give NAME or NAME:N, as extended-rosenbrock:1000");
  }
  return find_test_problem(std::string_view(name_and_size).substr(0, colon), n);
}

struct minimize_files {
  explicit minimize_files(const minimize_options& options)
      : output("--output", options.output),
        history("--history", options.history),
        plot("--plot", options.plot),
        report(options.json) {
    require_different_files({}, {&output, &history, &plot, &report.file()});
  }
  output_file output, history, plot;
  json_destination report;
};

void print_header(std::FILE* out, const minimize_options& options, const test_problem& problem,
                  const std::string& executor) {
  fmt::print(out, "function     {}: {}, {}, {} squared; problem {} of More, Garbow and Hillstrom\n", problem.name,
             problem.title, counted(problem.n, "unknown"), counted(problem.residuals, "residual"), problem.number);
  fmt::print(out, "start        {}the standard one\n",
             options.start_factor == 1 ? "" : fmt::format("{:g} x ", options.start_factor));
  fmt::print(out, "machine      {}\n", machine_line(describe_machine(options.device), executor));
  const descent_tolerances& t = options.solver.tolerances;
  std::string until;
  const auto add_test = [&until](double tolerance, const char* test, const char* of) {
    if (tolerance > 0) until += fmt::format("{}{} {:g}{}", until.empty() ? "" : " or ", test, tolerance, of);
  };
  add_test(t.gradient, "||g|| <=", "");
  add_test(t.relative_gradient, "||g|| <=", " ||g at the start||");
  add_test(t.step, "||step|| <=", " ||x||");
  add_test(t.function, "a gain <=", " |f|");
  fmt::print(out, "solver       {}, {}, until {}, at most {} iterations", options.solver.method,
             options.solver.line_search, until.empty() ? "rounding stops it" : until, options.solver.max_iterations);
  if (std::isfinite(options.solver.deadline)) fmt::print(out, " and {}", duration(options.solver.deadline));
  fmt::print(out, "\nexecutor     {}{}\n", executor,
             executor == options.solver.executor ? "" : " (asked for: " + options.solver.executor + ")");
}

void print_history(std::FILE* out, const std::vector<descent_record>& records) {
  fmt::print(out, "\n{:>12}  {:>16}  {:>13}  {:>13}  {:>11}\n", "iteration", "f", "||g||", "||step||", "evaluations");
  for (const descent_record& record : records)
    fmt::print(out, "{:>12}  {:>16.9e}  {:>13.6e}  {:>13.6e}  {:>11}\n", record.iteration, record.value,
               record.gradient_norm, record.step_length, record.evaluations);
  fmt::print(out, "\n");
}

/// What to try after a minimization that ended like this; empty where nothing general can be said.
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

json result_json(const minimize_options& options, const test_problem& problem, const minimize_report& result,
                 double seconds_per_evaluation) {
  json document = report_json(result);
  for (const char* of_linear_systems : {"preconditioner", "nnz", "relative_residual", "rhs_norm"})
    document.erase(of_linear_systems);
  document["message"] = result.message();
  document["seconds_per_evaluation"] = seconds_per_evaluation;
  document["line_search"] = options.solver.line_search;
  document["function"] = problem.name;
  document["start_factor"] = options.start_factor;
  const bool is_known = result.evaluations > 0;  // null where it is not
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
  json& history = document["history"];
  for (const char* column : {"iterations", "values", "gradient_norms", "step_lengths", "evaluations"})
    history[column] = json::array();
  for (const descent_record& record : result.records) {
    history["iterations"].push_back(record.iteration);
    history["values"].push_back(record.value);
    history["gradient_norms"].push_back(record.gradient_norm);
    history["step_lengths"].push_back(record.step_length);
    history["evaluations"].push_back(record.evaluations);
  }
  return document;
}

std::string records_csv(const std::vector<descent_record>& records) {
  std::string text = "iteration,value,gradient_norm,step_length,evaluations\n";
  for (const descent_record& record : records)
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", record.iteration, record.value, record.gradient_norm,
                   record.step_length, record.evaluations);
  return text;
}

std::string picture(const minimize_options& options, const test_problem& problem, const minimize_report& result) {
  std::vector<convergence_curve> curves{{"||g||", {}, 1}, {"f less the minimum", {}, 1}};
  for (const descent_record& record : result.records) {
    curves[0].history.push_back({record.iteration, record.gradient_norm});
    curves[1].history.push_back({record.iteration, record.value - problem.minima.global});
  }
  return convergence_svg(
      fmt::format("{}, n = {}: {} ({})", problem.title, problem.n, result.method(), result.executor()), curves,
      options.solver.tolerances.gradient, {.quantity = "gradient norm, and f less its published minimum", .zero = "0"});
}

minimize_report minimize_with_progress(minimizer<double>& minimizer, std::vector<double>& x, bool log) {
  const auto line = [&]() -> std::string {
    const progress now = minimizer.progress();
    if (!now.running) return {};
    return fmt::format("iteration {}, ||g|| {:.3e}", now.iteration, now.residual_norm);
  };
  minimize_report result;
  run_with_progress([&] { result = minimizer.solve(x); }, [&] { minimizer.cancel(); }, line, log);
  return result;
}

}  // namespace

int run_minimize(const minimize_options& options) {
  if (options.list) return list_functions();
  const minimize_files files(options);
  std::FILE* out = files.report.text();
  const test_problem problem = find_function(options.function);
  const auto f = make_test_problem(place_of_executor(options.solver.executor, options.device), problem.name, problem.n);
  minimizer<double> minimizer(*f, options.solver);
  print_header(out, options, problem, minimizer.executor());
  std::fflush(out);

  std::vector<double> x = problem.start;
  for (double& entry : x) entry *= options.start_factor;
  const minimize_report result = minimize_with_progress(minimizer, x, options.monitor);
  const double seconds_per_evaluation =
      result.evaluations > 0 ? result.solve_seconds() / static_cast<double>(result.evaluations) : 0;
  if (options.monitor) print_history(out, result.records);
  print_result(out, options, problem, result, seconds_per_evaluation);

  files.report.write(result_json(options, problem, result, seconds_per_evaluation));
  files.history.write(records_csv(result.records));
  if (files.plot.wanted()) files.plot.write(picture(options, problem, result));
  files.output.write_with([&](const std::string& path) { write_vector<double>(path, x); });
  return result.converged() ? succeeded : not_converged;
}

}  // namespace whilst::command
