#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/common/history.hpp"
#include "apps/common/interrupts.hpp"
#include "apps/common/pictures/plot.hpp"
#include "apps/common/progress.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "command.hpp"
#include "header.hpp"
#include "input.hpp"
#include "ranks/compare_on_ranks.hpp"
#include "results.hpp"
#include "solve_times.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/version.hpp"

#if WHILST_WITH_CUDA
#include "benchmarks/common/baselines.hpp"
#include "whilst/engine/memory/cuda.hpp"
#endif

namespace whilst::command {
namespace {

/// Below this size, matrix and vectors may stay in the caches and gigabytes per second mean little.
constexpr double cached_bytes = 64.0 * 1024 * 1024;

/// The reason for entries that an interrupt prevented.
constexpr const char* stopped_before = "interrupted";

/// One table row: an executor, or a baseline.
template <class T>
struct contender {
  std::string name;
  std::string executor = {};
  /// Why there is no result; empty if there is one.
  std::string why_not = {};
  index_type iterations = 0;
  double seconds_per_iteration = 0, solve_seconds = 0;
  int repeats = 0;
  std::vector<T> x = {};
  /// For executors: see ideal_bytes.
  double ideal_bytes = 0;
  bool is_beside = false;  ///< with the preconditioner that --beside names
  /// For executors only: baselines run a fixed number of iterations and test nothing.
  std::optional<whilst::report> report = {};

  bool ran() const { return why_not.empty(); }
};

/// Bytes that an iteration must move with any executor, as stated by the steps in the body of the method's loop. 0 if
/// one does not state it, or there is no such loop, as when the solve is one kernel.
double ideal_bytes(const json& nodes, const std::string& method) {
  for (const json& node : nodes) {
    if (node["kind"] != "loop") continue;
    if (node["name"] != method) return ideal_bytes(node["body"], method);
    double sum = 0;
    for (const json& step : node["body"]) {
      if (!step.contains("bytes")) return 0;
      sum += step["bytes"].get<double>();
    }
    return sum;
  }
  return 0;
}

/// Repeated solves, timed as solve_times says. If interrupted early, the warm-up's time counts.
template <class T>
contender<T> run_executor(const std::string& name, const std::string& executor, const linear_system<T>& system,
                          linear_solver_options options, const interrupt_watch& interrupts) {
  contender<T> result{.name = name, .executor = executor};
  try {
    options.executor = executor;
    linear_solver<T> solver(system.A, with_nodes(system, options));
    solve_times times;
    cancel_on_interrupt(interrupts, solver, [&] {
      while (times.wants_more() && !(times.repeats() > 0 && interrupts.interrupted())) {
        result.x.assign(system.b.size(), T(0));
        result.report = solver.solve(system.b, result.x);
        times.add(*result.report);
      }
    });
    result.ideal_bytes = ideal_bytes(json::parse(solver.json())["nodes"], result.report->method());
    result.iterations = result.report->iterations();
    result.repeats = times.repeats();
    result.solve_seconds = times.seconds_of_solve();
    result.seconds_per_iteration = times.seconds_of_iteration();
  } catch (const error& problem) {
    result.why_not = problem.what();
  }
  return result;
}

/// The loops that a GPU program would use without Whilst, for as many iterations as Whilst took.
template <class T>
std::vector<contender<T>> run_baselines([[maybe_unused]] const linear_system<T>& system,
                                        [[maybe_unused]] const solve_options& options,
                                        const machine_description& machine, const whilst::report& solved,
                                        const interrupt_watch& interrupts) {
  std::vector<contender<T>> results{{.name = "host-driven cuSPARSE and cuBLAS"}, {.name = "hand-written WHILE graph"}};
  [[maybe_unused]] const index_type iterations = solved.iterations();
  std::string why_not = {};
  if (!machine.cuda_build)
    why_not = "this build has no CUDA";
  else if (machine.device.empty())
    why_not = "there is no CUDA device";
  else if (solved.method() != "cg")
    why_not = "it is written for cg alone";
  else if (is_preconditioner_in_parts(options.solver))
    why_not = "it is written for preconditioners none and jacobi";
  else if (iterations == 0)
    why_not = "there is nothing to time in 0 iterations";
  else if (interrupts.interrupted())
    why_not = stopped_before;
#if WHILST_WITH_CUDA
  if (why_not.empty()) {
    // The baselines use the current device only.
    std::optional<cuda::device_guard> chosen;
    if (options.solver.device >= 0) chosen.emplace(options.solver.device);
    const bool jacobi = options.solver.preconditioner == "jacobi";
    const auto run = [&](contender<T>& into, auto baseline) {
      try {
        std::vector<double> times;
        for (into.repeats = 0; into.repeats < 3; ++into.repeats) {
          baseline_result<T> result = baseline(system.A, std::span<const T>(system.b), iterations, jacobi);
          if (!result.available) {
            into.why_not = result.why_not.empty() ? "not available" : result.why_not;
            return;
          }
          times.push_back(result.seconds_per_iteration);
          into.iterations = result.iterations;
          into.x = std::move(result.x);
        }
        into.seconds_per_iteration = solve_times::median(times);
        into.solve_seconds = into.seconds_per_iteration * static_cast<double>(into.iterations);
      } catch (const error& problem) {
        into.why_not = problem.what();
      }
    };
    run(results[0], [](const auto&... given) { return host_driven_conjugate_gradient<T>(given...); });
    run(results[1], [](const auto&... given) { return hand_written_graph_conjugate_gradient<T>(given...); });
    return results;
  }
#else
  if (why_not.empty()) why_not = "this program was built without it";
#endif
  for (auto& result : results) result.why_not = why_not;
  return results;
}

/// max |x - y| / max |y|; NaN where that has no meaning.
template <class T>
double relative_difference(const std::vector<T>& x, const std::vector<T>& y) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double apart = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    if (std::isnan(apart)) return NAN;
    difference = std::max(difference, apart);
    size = std::max(size, std::abs(static_cast<double>(y[i])));
  }
  return difference == 0 ? 0 : difference / size;
}

/// "12.3x" for how many times faster than `other`; empty without one.
template <class T>
std::string speed_ratio(const contender<T>& own, const contender<T>& other) {
  if (!other.ran() || own.seconds_per_iteration == 0) return "";
  const double ratio = other.seconds_per_iteration / own.seconds_per_iteration;
  return ratio < 100 ? fmt::format("{:.3g}x", ratio) : fmt::format("{:.0f}x", ratio);
}

template <class T>
struct comparison {
  std::vector<contender<T>> rows, baselines;
  double ideal_bytes = 0;

  const contender<T>* first() const {
    for (const auto& row : rows) {
      if (row.ran()) return &row;
    }
    return nullptr;
  }
  double difference(const contender<T>& row) const { return relative_difference(row.x, first()->x); }
  double gigabytes_per_second(const contender<T>& row) const {
    const double bytes = row.is_beside ? row.ideal_bytes : ideal_bytes;
    return row.seconds_per_iteration > 0 ? bytes / row.seconds_per_iteration * 1e-9 : 0;
  }
};

template <class T>
void print_table(std::FILE* out, const comparison<T>& results, bool show_bandwidth) {
  const auto& host_driven = results.baselines[0];
  const auto& hand_written = results.baselines[1];
  const bool show_ratios = host_driven.ran() || hand_written.ran();
  std::size_t name_width = show_ratios ? 33 : 10;
  for (const auto& row : results.rows) name_width = std::max(name_width, row.name.size() + 1);
  const auto line = [&](const std::string& name, const std::string& iterations, const std::string& iteration_time,
                        const std::string& solve_time, const std::string& to_host_driven,
                        const std::string& to_hand_written, const std::string& bandwidth, const std::string& difference,
                        const std::string& how) {
    fmt::print(out, "{:<{}}{:>11}{:>14}{:>12}", name, name_width, iterations, iteration_time, solve_time);
    if (show_ratios) fmt::print(out, "{:>13}{:>14}", to_host_driven, to_hand_written);
    if (show_bandwidth) fmt::print(out, "{:>8}", bandwidth);
    fmt::print(out, "{:>13}  {}\n", difference, how);
  };
  fmt::print(out, "\n");
  line("executor", "iterations", "an iteration", "a solve", "/host-driven", "/hand-written", "GB/s", "difference",
       "result");
  const auto result_line = [&](const contender<T>& row, const std::string& how) {
    line(row.name, std::to_string(row.iterations), row.iterations > 0 ? duration(row.seconds_per_iteration) : "-",
         duration(row.solve_seconds), speed_ratio(row, host_driven), speed_ratio(row, hand_written),
         row.iterations > 0 ? fmt::format("{:.0f}", results.gigabytes_per_second(row)) : "-",
         fmt::format("{:.1e}", results.difference(row)), how);
  };
  for (const auto& row : results.rows) {
    if (!row.ran()) continue;
    std::string how(name(row.report->reason()));
    if (row.report->executor() != row.executor) how += ", ran as " + row.report->executor();
    result_line(row, how);
  }
  for (const auto& row : results.baselines) {
    if (row.ran()) result_line(row, "fixed count");
  }
  fmt::print(out, "\n");
  for (const auto* group : {&results.rows, &results.baselines}) {
    for (const auto& row : *group) {
      if (!row.ran()) fmt::print(out, "{}: not run: {}\n", row.name, row.why_not);
    }
  }
  fmt::print(out, "Times are medians of repeated solves from x = 0, after one to warm up.\n");
  if (results.first() != nullptr) {
    fmt::print(out, "difference: max |x - y| / max |y|, y being the solution of {}.\n", results.first()->name);
  }
  if (show_ratios) fmt::print(out, "/baseline: how many times faster than it, by the time of an iteration.\n");
  if (hand_written.ran()) {
    fmt::print(out, "{}: kernels of its own for this loop alone, without history, cancel, deadline or restart.\n",
               hand_written.name);
  }
  if (show_bandwidth) {
    fmt::print(out, "GB/s: what the steps of an iteration must move, each array once a step, {}, by its time.\n",
               memory(results.ideal_bytes));
  }
}

template <class T>
json comparison_json(const comparison<T>& results) {
  json document;
  const auto common = [&](const contender<T>& row) {
    json entry{{"name", row.name}, {"available", row.ran()}, {"why_not", row.why_not}};
    if (!row.ran()) return entry;
    entry["iterations"] = row.iterations;
    entry["seconds_per_iteration"] = row.seconds_per_iteration;
    entry["solve_seconds"] = row.solve_seconds;
    entry["repeats"] = row.repeats;
    if (results.first() != nullptr) entry["difference"] = results.difference(row);
    return entry;
  };
  document["ideal_bytes_per_iteration"] = results.ideal_bytes > 0 ? json(results.ideal_bytes) : json(nullptr);
  document["executors"] = json::array();
  for (const auto& row : results.rows) {
    json entry = common(row);
    if (row.ran()) {
      entry["report"] = report_json(*row.report);
      entry["report"]["history"] = history_json(row.report->history());
      for (const auto& baseline : results.baselines) {
        if (!baseline.ran() || row.iterations == 0) continue;
        entry["times_faster_than"][baseline.name] = baseline.seconds_per_iteration / row.seconds_per_iteration;
      }
      if (results.ideal_bytes > 0) entry["gigabytes_per_second"] = results.gigabytes_per_second(row);
    }
    document["executors"].push_back(std::move(entry));
  }
  document["baselines"] = json::array();
  for (const auto& row : results.baselines) document["baselines"].push_back(common(row));
  return document;
}

template <class T>
int compare_in(const solve_options& options) {
  const result_files files(options);
  std::FILE* out = files.report.text();
  const linear_system<T> system = load_system<T>(options);
  if (system.columns > 1)
    throw error("comparing executors", fmt::format("--rhs has {} columns", system.columns),
                "Give one right-hand side, or use whilst solve");
  if (system.A.rows() != system.A.columns())
    throw error("comparing executors",
                fmt::format("the matrix has {} rows and {} columns", system.A.rows(), system.A.columns()),
                "Give a square matrix, or use solve");
  const machine_description machine = describe_machine(options.solver.device);
  const interrupt_watch interrupts;
  print_header(out, system, options, machine, "");
  if (!machine.device.empty()) fmt::print(out, "host         {}\n", machine_line(machine, "host"));
  std::fflush(out);

  status_line status;
  comparison<T> results;
  linear_solver_options beside = options.solver;
  beside.preconditioner = options.beside;
  for (const bool is_beside : {false, true}) {
    if (is_beside && options.beside.empty()) break;
    const linear_solver_options& solver = is_beside ? beside : options.solver;
    for (const auto& executor : machine.executors) {
      if (executor.name == "batch") continue;  // for many systems, and this is one
      if (is_beside && executor.name == "resident" && is_preconditioner_in_parts(beside)) continue;
      const std::string why_not = executor.available && interrupts.interrupted() ? stopped_before : executor.why_not;
      if (is_beside && !why_not.empty()) continue;  // told above
      const std::string shown = is_beside ? executor.name + ", " + beside.preconditioner : executor.name;
      status.show(shown + " (Ctrl-C stops) ...");
      results.rows.push_back(why_not.empty() ? run_executor(shown, executor.name, system, solver, interrupts)
                                             : contender<T>{.name = shown, .why_not = why_not});
      results.rows.back().is_beside = is_beside;
    }
  }
  for (const auto& row : results.rows)
    if (!row.is_beside) results.ideal_bytes = std::max(results.ideal_bytes, row.ideal_bytes);
  if (results.first() == nullptr) throw error("compare", "no executor could run", results.rows.front().why_not);
  status.show("baselines ...");
  // All executors do the same iterations; if rounding makes a difference, the main one's count is the reference.
  const whilst::report* reference = &*results.first()->report;
  for (const auto& row : results.rows) {
    if (row.ran() && row.name == "graph") reference = &*row.report;
  }
  results.baselines = run_baselines(system, options, machine, *reference, interrupts);
  status.show("");

  print_table(out, results, results.ideal_bytes > cached_bytes);

  const measured_at measured = measured_now();
  json document{{"version", version},
                {"commit", measured.commit},
                {"date", measured.date},
                {"matrix", system.name},
                {"right_side", system.rhs_source},
                {"n", system.A.rows()},
                {"nnz", system.A.nonzeros()},
                {"method", options.solver.method},
                {"preconditioner", options.solver.preconditioner},
                {"beside", options.beside},
                {"precision", options.precision}};
  document["machine"] = machine_json(machine);
  document.update(comparison_json(results));
  files.report.write(document);
  if (files.plot.wanted()) {
    std::vector<convergence_curve> curves;
    for (const auto& row : results.rows) {
      const bool is_named = options.beside.empty() || row.is_beside;
      const std::string label = is_named ? row.name : row.name + ", " + options.solver.preconditioner;
      if (row.ran()) curves.push_back({label, row.report->history(), row.report->rhs_norm()});
    }
    files.plot.write(convergence_svg(fmt::format("{}: {}", system.name, options.solver.method), curves,
                                     relative_tolerance(options, results.first()->report->rhs_norm())));
  }
  const bool all_converged = std::all_of(results.rows.begin(), results.rows.end(),
                                         [](const auto& row) { return !row.ran() || row.report->converged(); });
  return all_converged ? succeeded : not_converged;
}

}  // namespace

int run_compare(const solve_options& options) {
  if (!options.ranks.empty()) return run_compare_on_ranks(options);
  return options.precision == "float" ? compare_in<float>(options) : compare_in<double>(options);
}

}  // namespace whilst::command
