#pragma once

/// What the measurements share: which ways there are, what was asked for, and what becomes of a timing.

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
  index_type largest = 4096 * 4096;
  /// Seconds of timed runs for each entry of a table.
  double budget() const { return quick ? 0.02 : 0.1; }
};

std::string name_of(const way& how);
/// Every way that this machine has; the first is the one for the table's ratios where there is a GPU.
std::vector<way> ways(bool gpu, bool quick);

/// Any failure of one entry becomes its reason; the others go on.
template <class Measure>
timing attempt(const Measure& measure) {
  try {
    return measure();
  } catch (const whilst::error& problem) {
    return {.why_not = problem.what()};
  }
}

/// An entry of a table: a dash where nothing was measured.
std::string microseconds(const std::optional<timing>& measured);
/// `entry` with what was measured.
json entry_of(const timing& measured, json entry);
json way_json(const way& how);

}  // namespace overheads
