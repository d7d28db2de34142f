#pragma once

/// What the measurements share: the available ways, the settings, and the reporting of a timing.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/overheads/timing.hpp"
#include "whilst/error.hpp"

namespace overheads {

using nlohmann::json;

struct settings {
  std::string json_file;
  bool quick = false;
  std::vector<std::string> only;             ///< suites; empty for all
  std::vector<std::string> preconditioners;  ///< of suite multigrid; empty for all
  bool calls = false;
  index_type largest = 4096 * 4096;
  /// Seconds of timed runs per table entry.
  double budget() const { return quick ? 0.02 : 0.1; }
  bool wants(const std::string& suite) const { return only.empty() || std::ranges::count(only, suite) > 0; }
};

std::string name_of(const way& how);
/// Every way this machine has; with a GPU, the first is the reference for the table's ratios.
std::vector<way> ways(bool gpu, bool quick);

/// A failed entry records its reason; the others go on.
template <class Measure>
timing attempt(const Measure& measure) {
  try {
    return measure();
  } catch (const whilst::error& problem) {
    return {.why_not = problem.what()};
  }
}

/// A table entry: a dash if nothing was measured.
std::string microseconds(const std::optional<timing>& measured);
/// `entry` with the measurement added.
json entry_of(const timing& measured, json entry);
json way_json(const way& how);

}  // namespace overheads
