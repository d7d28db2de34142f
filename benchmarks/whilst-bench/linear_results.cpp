#include "benchmarks/whilst-bench/linear_results.hpp"

#include <algorithm>

namespace whilst_bench {
namespace {

using whilst::index_type;

template <class Which>
index_type count(const linear_results& results, const Which& which) {
  index_type total = 0;
  for (const linear_entry& entry : results.entries)
    total += std::count_if(entry.runs.begin(), entry.runs.end(),
                           [&](const linear_run& run) { return run.by.library == "whilst" && which(run); });
  return total;
}

}  // namespace

const linear_run* linear_entry::by(const linear_contender& contender) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.by == contender; });
  return found == runs.end() ? nullptr : &*found;
}
const linear_run* linear_entry::fastest() const {
  return cheapest(runs, [](const linear_run& run) { return run.seconds; });
}
const linear_run* linear_entry::fewest() const {
  return cheapest(runs, [](const linear_run& run) { return run.products; });
}

index_type linear_results::runs() const {
  return count(*this, [](const linear_run&) { return true; });
}
index_type linear_results::solved() const {
  return count(*this, [](const linear_run& run) { return run.solved; });
}
index_type linear_results::false_claims() const {
  return count(*this, [](const linear_run& run) { return run.false_claim(); });
}
index_type linear_results::systems_solved() const {
  return std::count_if(entries.begin(), entries.end(), [](const linear_entry& entry) { return entry.fastest(); });
}

std::string failure_of(const linear_run& run) { return run.false_claim() ? "false_claim" : run.reason; }

linear_tally tally_of(const linear_contender& by, const linear_results& results) {
  linear_tally tally;
  for (const linear_entry& entry : results.entries) {
    const linear_run* const run = entry.by(by);
    if (!run) continue;
    ++tally.runs;
    if (!run->solved) {
      ++tally.failures[failure_of(*run)];
      continue;
    }
    ++tally.solved;
    tally.fastest += entry.fastest() == run;
    tally.fewest += entry.fewest()->products == run->products;
    tally.iterations += run->iterations;
    tally.seconds += run->seconds;
  }
  return tally;
}

}  // namespace whilst_bench
