#pragma once

#include <string>
#include <vector>

#include "whilst/engine/executor.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst::graph_tour {

/// Where the tour is taken.
struct visitor {
  place where;
  executor how;
};

/// A stop: prints what it does and checks it. Throws whilst::error where the check fails.
struct stop {
  std::string name, what;
  void (*visit)(const visitor&);
};
const std::vector<stop>& stops();

}  // namespace whilst::graph_tour
