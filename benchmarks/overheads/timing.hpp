#pragma once

/// How this benchmark times an iteration: the difference between runs of two lengths, which cancels the one-time cost
/// of a run.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace overheads {

using whilst::index_type;

/// A way to run a loop.
struct way {
  /// "host", "stream", "graph" or "resident".
  std::string executor;
  /// Iterations per trip; 0 where that has no meaning.
  int unroll = 0;
  bool programmatic_launch = true;
};

/// Iterations of the short and of the long run: multiples of every unroll, so that both end in the same way.
struct run_lengths {
  index_type shorter, longer;
};

struct timing {
  double seconds_per_iteration = 0;
  run_lengths lengths{};
  int repeats = 0;
  /// Why there is no timing; empty if there is one.
  std::string why_not = {};
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// run(iterations) runs once and returns its seconds. One long warm-up run, then runs of both lengths in turn for
/// `budget` seconds, at least three of each; the medians count.
inline timing time_iterations(run_lengths lengths, double budget, const std::function<double(index_type)>& run) {
  run(lengths.longer);
  std::vector<double> shorter, longer;
  double spent = 0;
  while (shorter.size() < 3 || (spent < budget && shorter.size() < 25)) {
    shorter.push_back(run(lengths.shorter));
    longer.push_back(run(lengths.longer));
    spent += shorter.back() + longer.back();
  }
  timing result{.lengths = lengths, .repeats = static_cast<int>(shorter.size())};
  result.seconds_per_iteration =
      (median(longer) - median(shorter)) / static_cast<double>(lengths.longer - lengths.shorter);
  return result;
}

}  // namespace overheads
