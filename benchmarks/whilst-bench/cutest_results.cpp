#include "benchmarks/whilst-bench/cutest_results.hpp"

#include <algorithm>

#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {
namespace {

using whilst::index_type;

template <class Which>
index_type count(const cutest_results& results, const Which& which) {
  index_type total = 0;
  for (const cutest_entry& entry : results.entries) total += std::count_if(entry.runs.begin(), entry.runs.end(), which);
  return total;
}

}  // namespace

std::string name_of(minimum_reached which) {
  switch (which) {
    case minimum_reached::lowest:
      return "lowest";
    case minimum_reached::other:
      return "other";
    case minimum_reached::below:
      return "below";
    default:
      return "unknown";
  }
}

const cutest_run* cutest_entry::by(const std::string& method) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.method == method; });
  return found == runs.end() ? nullptr : &*found;
}
const cutest_run* cutest_entry::fastest() const {
  return cheapest(runs, [](const cutest_run& run) { return run.seconds; });
}
const cutest_run* cutest_entry::fewest() const {
  return cheapest(runs, [](const cutest_run& run) { return run.evaluations; });
}
const cutest_run* cutest_entry::lowest() const {
  return cheapest(runs, [](const cutest_run& run) { return run.at_end.value; });
}

minimum_reached cutest_entry::reached(const cutest_run& run) const {
  if (!run.solved) return minimum_reached::unknown;
  const auto known = from.minimum();
  const double least = known ? known->value : lowest()->at_end.value;
  // Where the Hessian is singular, f is still that far from its minimum when the gradient is 1e-6 or less.
  const double slack = 1e-5 * std::max(1.0, std::abs(least)) + (known ? known->last_digit : 0);
  const double above = run.at_end.value - least;
  return above > slack ? minimum_reached::other : above < -slack ? minimum_reached::below : minimum_reached::lowest;
}

index_type cutest_results::runs() const {
  return count(*this, [](const cutest_run&) { return true; });
}
index_type cutest_results::solved() const {
  return count(*this, [](const cutest_run& run) { return run.solved; });
}
index_type cutest_results::false_claims() const {
  return count(*this, [](const cutest_run& run) { return run.false_claim(); });
}
index_type cutest_results::problems_solved() const {
  return std::count_if(entries.begin(), entries.end(), [](const cutest_entry& entry) { return entry.fastest(); });
}

std::string failure_of(const cutest_run& run) { return run.false_claim() ? "false_claim" : run.reason; }

cutest_tally tally_of(const std::string& method, const cutest_results& results) {
  cutest_tally tally;
  for (const cutest_entry& entry : results.entries) {
    const cutest_run* const run = entry.by(method);
    if (!run) continue;
    ++tally.runs;
    if (!run->solved) {
      ++tally.failures[failure_of(*run)];
      continue;
    }
    ++tally.solved;
    tally.other_minima += entry.reached(*run) == minimum_reached::other;
    tally.fastest += entry.fastest() == run;
    tally.fewest += entry.fewest()->evaluations == run->evaluations;
    tally.iterations += run->iterations;
    tally.evaluations += run->evaluations;
    tally.seconds += run->seconds;
  }
  return tally;
}

}  // namespace whilst_bench
