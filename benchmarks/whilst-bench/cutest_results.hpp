#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/whilst-bench/cutest_runs.hpp"

namespace whilst_bench {

/// Where a solved run ended, compared with the lowest value that is known.
enum class minimum_reached { unknown, lowest, other, below };
std::string name_of(minimum_reached which);

/// A problem with some number of unknowns, and all its runs.
struct cutest_entry {
  cutest_case from;
  std::vector<cutest_run> runs;

  /// Null if there is none.
  const cutest_run* by(const std::string& method) const;
  /// The solved run that took the least time, or the fewest evaluations; null if none is solved.
  const cutest_run* fastest() const;
  const cutest_run* fewest() const;
  /// The solved run with the lowest f; null if none is solved.
  const cutest_run* lowest() const;
  /// Compared with the known minimum, or else with the lowest f of these runs. Unknown for what is not solved.
  minimum_reached reached(const cutest_run& run) const;
};

struct cutest_results {
  std::vector<std::string> methods;
  std::vector<cutest_entry> entries;
  std::vector<std::string> left_out;  ///< cases: interrupted before

  whilst::index_type runs() const, solved() const, false_claims() const;
  /// Entries that some method solved.
  whilst::index_type problems_solved() const;
};

/// What became of all runs of one method.
struct cutest_tally {
  whilst::index_type runs = 0, solved = 0;
  whilst::index_type other_minima = 0;
  /// On how many problems nobody was faster, or took fewer evaluations.
  whilst::index_type fastest = 0, fewest = 0;
  whilst::index_type iterations = 0, evaluations = 0;  ///< of what is solved, and so the time
  double seconds = 0;
  std::map<std::string, int> failures;  ///< by reason; "false_claim" is one
};
cutest_tally tally_of(const std::string& method, const cutest_results& results);

/// The reason of a failed run, or "false_claim".
std::string failure_of(const cutest_run& run);

}  // namespace whilst_bench
