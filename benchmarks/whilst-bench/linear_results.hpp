#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/whilst-bench/linear_runs.hpp"

namespace whilst_bench {

/// One system and all its runs.
struct linear_entry {
  linear_case from;
  whilst::index_type rows = 0, columns = 0, nonzeros = 0;
  std::string right_side;
  std::vector<linear_run> runs;

  /// Null if it has none.
  const linear_run* by(const linear_contender& contender) const;
  /// The solved run that took the least time, or the fewest products with A; null if none is solved.
  const linear_run* fastest() const;
  const linear_run* fewest() const;
};

struct linear_results {
  std::vector<linear_contender> contenders;
  std::vector<linear_entry> entries;
  std::vector<left_out_file> left_out;

  /// Of the library's own runs.
  whilst::index_type runs() const, solved() const, false_claims() const;
  /// Systems that somebody solved.
  whilst::index_type systems_solved() const;
};

/// What became of all runs of one contender.
struct linear_tally {
  whilst::index_type runs = 0, solved = 0;
  /// On how many systems nobody was faster, or took fewer products.
  whilst::index_type fastest = 0, fewest = 0;
  whilst::index_type iterations = 0;  ///< of what is solved, and so the time
  double seconds = 0;
  std::map<std::string, int> failures;  ///< by reason; "false_claim" is one
};
linear_tally tally_of(const linear_contender& by, const linear_results& results);

/// The reason of a failed run, or "false_claim".
std::string failure_of(const linear_run& run);

}  // namespace whilst_bench
