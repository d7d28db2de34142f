#include "benchmarks/overheads/tables.hpp"

#include <fmt/format.h>

namespace overheads {

std::string name_of(const way& how) {
  std::string name = how.executor;
  if (how.executor == "graph") name += fmt::format(" x{}", how.unroll);
  if ((how.executor == "graph" || how.executor == "stream") && !how.programmatic_launch) name += " no pdl";
  return name;
}

std::vector<way> ways(bool gpu, bool quick) {
  std::vector<way> all{{"host"}};
  if (!gpu) return all;
  for (const bool overlap : {true, false}) {
    all.push_back({"stream", 1, overlap});
    for (const int unroll : {1, 4, 16}) {
      if (quick && unroll == 4) continue;
      all.push_back({"graph", unroll, overlap});
    }
  }
  all.push_back({"resident"});
  return all;
}

std::string microseconds(const std::optional<timing>& measured) {
  if (!measured || !measured->why_not.empty()) return "-";
  return fmt::format("{:.{}f}", 1e6 * measured->seconds_per_iteration, measured->seconds_per_iteration < 1e-4 ? 2 : 0);
}

json entry_of(const timing& measured, json entry) {
  entry["why_not"] = measured.why_not;
  if (!measured.why_not.empty()) return entry;
  entry["microseconds_per_iteration"] = 1e6 * measured.seconds_per_iteration;
  entry["run_lengths"] = {measured.lengths.shorter, measured.lengths.longer};
  entry["repeats"] = measured.repeats;
  return entry;
}

json way_json(const way& how) {
  json entry{{"name", name_of(how)}, {"executor", how.executor}};
  if (how.unroll) entry["unroll"] = how.unroll;
  if (how.executor == "graph" || how.executor == "stream") entry["programmatic_launch"] = how.programmatic_launch;
  return entry;
}

}  // namespace overheads
