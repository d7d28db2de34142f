#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/pictures/profile_plot.hpp"

/// What the suites share.
namespace whilst_bench {

/// Exit status beside those of whilst::command: a method reported convergence that its x does not have.
constexpr int claimed_falsely = 3;

/// Those of `known` that are wanted, in its order; "all" stands for every one. doing: the option, for errors. Throws
/// whilst::error on an unknown name, and if none is wanted.
std::vector<std::string> chosen(const std::string& doing, std::string_view what, const std::vector<std::string>& wanted,
                                const std::vector<std::string>& known);

/// Throws whilst::error if this machine cannot run that executor.
void require_executor(const std::string& wanted);

/// A method of whilst::minimizer as a column's title.
std::string short_name(const std::string& minimizer);

double median_of(std::vector<double> values);

/// Calls solve() once, and if that has solved it as often as `repetitions` says, measured: the median time goes into
/// the run. solve: one call, from the start; it fills the run and returns its seconds.
template <class Run, class Solve>
void repeat(Run& run, int repetitions, const Solve& solve) {
  run.seconds = solve();
  std::vector<double> times;
  while (run.solved && static_cast<int>(times.size()) < repetitions) times.push_back(solve());
  if (run.solved) run.seconds = median_of(times);
}

/// The solved run for which cost(run) is lowest; null if none is solved.
template <class Run, class Cost>
const Run* cheapest(const std::vector<Run>& runs, const Cost& cost) {
  const Run* best = nullptr;
  for (const Run& run : runs)
    if (run.solved && (!best || cost(run) < cost(*best))) best = &run;
  return best;
}

/// A panel of performance profiles: a curve for each solver, by cost(run). run_of(entry, solver): a pointer to a run,
/// or null; failures and runs that are not there cost infinitely much. least: as in make_profile.
template <class Solver, class Entry, class RunOf, class Cost>
whilst::command::profile_panel profile_by(const std::string& caption, const std::vector<std::string>& labels,
                                          const std::vector<Solver>& solvers, const std::vector<Entry>& entries,
                                          const RunOf& run_of, double least, const Cost& cost) {
  std::vector<std::vector<double>> costs;
  for (const Solver& solver : solvers) {
    costs.emplace_back();
    for (const Entry& entry : entries) {
      const auto* const run = run_of(entry, solver);
      costs.back().push_back(run && run->solved ? static_cast<double>(cost(*run))
                                                : std::numeric_limits<double>::infinity());
    }
  }
  return whilst::command::make_profile(caption, labels, costs, least);
}

}  // namespace whilst_bench
