#include "apps/whilst/ranks/compare_on_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/history.hpp"
#include "apps/common/interrupts.hpp"
#include "apps/common/pictures/plot.hpp"
#include "apps/common/progress.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "apps/whilst/header.hpp"
#include "apps/whilst/ranks/solver_on_ranks.hpp"
#include "apps/whilst/results.hpp"
#include "apps/whilst/solve_times.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "benchmarks/common/ranks.hpp"
#include "whilst/version.hpp"

namespace whilst::command {
namespace {

/// One table row: a number of ranks.
struct line_of_ranks {
  int ranks = 0;
  std::string why_not = {};  ///< why there is no result; empty if there is one
  solve_times times = {};
  whilst::report report = {};
  double true_residual = 0;
  json ranks_json = {};

  bool ran() const { return why_not.empty(); }
};

/// What rank 0 alone has: the whole system, the files, and what was measured.
template <class T>
class comparison_of_ranks {
 public:
  explicit comparison_of_ranks(const solve_options& options)
      : options_(options),
        files_(require_what_ranks_have(options)),
        system_(load_system_of_ranks<T>(options)),
        machine_(describe_machine(-1)) {}

  const linear_system<T>& system() const { return system_; }
  /// Once the first solver is there: what it refuses is told alone.
  void print_head() {
    if (std::exchange(has_head_, true)) return;
    std::FILE* const out = files_.report.text();
    print_header(out, system_, options_, machine_, options_.solver.executor);
    if (options_.partition != "rows") fmt::print(out, "partition    {}\n", options_.partition);
    std::fflush(out);
  }
  void add(line_of_ranks line) { lines_.push_back(std::move(line)); }

  /// Prints and writes. Returns an exit_status.
  int tell() const {
    print_table();
    const measured_at measured = measured_now();
    json document{{"version", version},
                  {"commit", measured.commit},
                  {"date", measured.date},
                  {"matrix", system_.name},
                  {"right_side", system_.rhs_source},
                  {"n", system_.A.rows()},
                  {"nnz", system_.A.nonzeros()},
                  {"method", options_.solver.method},
                  {"preconditioner", options_.solver.preconditioner},
                  {"precision", options_.precision},
                  {"machine", machine_json(machine_)},
                  {"comparison", json::array()}};
    for (const line_of_ranks& line : lines_) document["comparison"].push_back(line_json(line));
    files_.report.write(document);
    if (files_.plot.wanted()) write_plot();
    const bool all_converged = std::all_of(
        lines_.begin(), lines_.end(), [](const line_of_ranks& line) { return line.ran() && line.report.converged(); });
    return all_converged ? succeeded : not_converged;
  }

 private:
  const line_of_ranks* first() const {
    const auto found = std::find_if(lines_.begin(), lines_.end(), [](const auto& line) { return line.ran(); });
    return found == lines_.end() ? nullptr : &*found;
  }
  /// How many times less an iteration takes than on the first number of ranks; 0 where there is none to time.
  double speed_up(const line_of_ranks& line) const {
    const double own = line.times.seconds_of_iteration();
    return line.report.iterations() > 0 && own > 0 ? first()->times.seconds_of_iteration() / own : 0;
  }

  void print_table() const {
    std::FILE* const out = files_.report.text();
    constexpr const char* row = "{:>5}{:>12}{:>14}{:>12}{:>10}{:>11}  {:<15}{}\n";
    fmt::print(out, "\n");
    fmt::print(out, row, "ranks", "iterations", "an iteration", "a solve", "speed-up", "residual", "transport",
               "result");
    for (const line_of_ranks& line : lines_) {
      if (!line.ran()) continue;
      const bool is_timed = line.report.iterations() > 0;
      std::string how(name(line.report.reason()));
      if (line.report.executor() != options_.solver.executor) how += ", ran as " + line.report.executor();
      fmt::print(out, row, line.ranks, line.report.iterations(),
                 is_timed ? duration(line.times.seconds_of_iteration()) : "-", duration(line.times.seconds_of_solve()),
                 is_timed ? fmt::format("{:.3g}x", speed_up(line)) : "-", fmt::format("{:.2e}", line.true_residual),
                 line.ranks_json["transport"].template get<std::string>(), how);
    }
    fmt::print(out, "\n");
    for (const line_of_ranks& line : lines_)
      if (!line.ran()) fmt::print(out, "{} ranks: not run: {}\n", line.ranks, line.why_not);
    fmt::print(out, "Times are medians of repeated solves from x = 0, after one to warm up.\n");
    fmt::print(out, "speed-up: of an iteration, over the first line's. residual: relative, computed here in double.\n");
  }

  json line_json(const line_of_ranks& line) const {
    json made{{"ranks", line.ranks}, {"available", line.ran()}, {"why_not", line.why_not}};
    if (!line.ran()) return made;
    made["iterations"] = line.report.iterations();
    made["reason"] = name(line.report.reason());
    made["seconds_per_iteration"] = line.times.seconds_of_iteration();
    made["solve_seconds"] = line.times.seconds_of_solve();
    made["repeats"] = line.times.repeats();
    made["speed_up"] = speed_up(line) > 0 ? json(speed_up(line)) : json(nullptr);
    made["true_relative_residual"] = line.true_residual;
    made.update(line.ranks_json);
    made["report"] = report_json(line.report);
    made["report"]["history"] = history_json(line.report.history());
    return made;
  }

  void write_plot() const {
    std::vector<convergence_curve> curves;
    for (const line_of_ranks& line : lines_)
      if (line.ran()) curves.push_back({counted(line.ranks, "rank"), line.report.history(), line.report.rhs_norm()});
    files_.plot.write(convergence_svg(fmt::format("{}: {}", system_.name, options_.solver.method), curves,
                                      relative_tolerance(options_, first()->report.rhs_norm())));
  }

  const solve_options& options_;
  result_files files_;
  linear_system<T> system_;
  machine_description machine_;
  bool has_head_ = false;
  std::vector<line_of_ranks> lines_;
};

/// The solves of a rank. Rank 0, which has the comparison, says when there were enough. Only its line is whole.
template <class T>
line_of_ranks measured_on_rank(const group& ranks, int gpu, const solve_options& options,
                               comparison_of_ranks<T>* comparison, const interrupt_watch* interrupts) {
  line_of_ranks line{.ranks = ranks.size()};
  solver_on_ranks<T> solving(ranks, gpu, options, comparison ? &comparison->system() : nullptr);
  if (comparison) comparison->print_head();
  const auto repeat = [&] {
    for (char goes_on = 1; goes_on == 1;) {
      line.report = solving.solve();
      line.times.add(line.report);
      if (comparison) goes_on = line.times.wants_more() && !interrupts->interrupted();
      goes_on = ranks.all_gather<char>("repeating a solve", std::span<const char>(&goes_on, 1)).all.front();
    }
  };
  if (interrupts) {
    cancel_on_interrupt(*interrupts, solving.solver(), repeat);
  } else {
    repeat();
  }
  const std::vector<T> x = solving.gathered_x();
  if (comparison) line.true_residual = true_relative_residual<T>(comparison->system(), x);
  line.ranks_json = solving.ranks_json();
  return line;
}

/// Of threads, one number of them after another.
template <class T>
int compare_threads(const solve_options& options, const std::vector<int>& numbers) {
  comparison_of_ranks<T> comparison(options);
  const interrupt_watch interrupts;
  std::exception_ptr failure;
  bool has_run = false;
  status_line status;
  for (const int number : numbers) {
    line_of_ranks line{.ranks = number};
    if (has_run && interrupts.interrupted()) {
      line.why_not = "interrupted";
    } else {
      status.show(counted(number, "rank") + " (Ctrl-C stops) ...");
      try {
        run_ranks(number, [&](const group& ranks, int gpu) {
          const bool is_first = ranks.rank() == 0;
          line_of_ranks own = measured_on_rank<T>(ranks, gpu, options, is_first ? &comparison : nullptr,
                                                  is_first ? &interrupts : nullptr);
          if (is_first) line = std::move(own);
          return 0;
        });
        has_run = true;
      } catch (const error& problem) {
        if (!failure) failure = std::current_exception();
        line = {.ranks = number, .why_not = problem.what()};
      }
    }
    comparison.add(std::move(line));
  }
  status.show("");
  if (!has_run) std::rethrow_exception(failure);
  return comparison.tell();
}

/// Of processes there is one number.
template <class T>
int compare_processes(const group& ranks, int gpu, const solve_options& options) {
  std::optional<comparison_of_ranks<T>> comparison;
  if (ranks.rank() == 0) comparison.emplace(options);
  const interrupt_watch interrupts;
  line_of_ranks line = measured_on_rank<T>(ranks, gpu, options, comparison ? &*comparison : nullptr, &interrupts);
  if (!comparison) return succeeded;
  comparison->add(std::move(line));
  return comparison->tell();
}

template <class T>
int compare_in_ranks(const solve_options& options) {
  const std::vector<int> numbers = numbers_of_ranks_from(options.ranks);
  if (numbers.front() > 0) return compare_threads<T>(options, numbers);
  return run_ranks(0, [&](const group& ranks, int gpu) { return compare_processes<T>(ranks, gpu, options); });
}

}  // namespace

int run_compare_on_ranks(const solve_options& options) {
  return options.precision == "float" ? compare_in_ranks<float>(options) : compare_in_ranks<double>(options);
}

}  // namespace whilst::command
