#pragma once

#include <string>
#include <vector>

#include "tests/under_racecheck.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst_test {

/// Where the ranks of a test run: on the host, and where there are GPUs on these, several ranks on one if they are few.
inline std::vector<std::string> group_executors() {
  std::vector<std::string> names{"host"};
  if (whilst::cuda::device_count() == 0) return names;
  if (!under_racecheck()) names.emplace_back("graph");
  names.emplace_back("stream");
  return names;
}
/// How many seconds ranks wait for one another in tests where none is to be lost: racecheck slows kernels down.
inline double peer_limit_seconds() { return under_racecheck() ? 200 : 10; }
/// Most ranks that may wait for one another on one GPU: it has so many queues.
inline constexpr int ranks_of_gpu = 4;

/// Whether ranks must share GPUs. Kernels of one that wait may then leave no room for those of another: their grids
/// must be small.
inline bool share_gpus(const std::string& executor, int ranks) {
  return executor != "host" && whilst::cuda::device_count() < ranks;
}

/// Options with an executor for a rank.
inline whilst::linear_solver_options with_executor(whilst::linear_solver_options options, const std::string& executor,
                                                   int rank) {
  options.executor = executor;
  if (executor != "host") options.device = rank % whilst::cuda::device_count();
  return options;
}

}  // namespace whilst_test
