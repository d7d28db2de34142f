#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/group/group.hpp"

namespace scaling {

using whilst::index_type;

struct settings {
  int threads = 1, iterations = 300, repetitions = 5;
  std::vector<index_type> edges{24, 100, 216};
  std::vector<std::string> kinds{"matrix-free", "csr"};
  std::vector<std::string> methods{"cg", "pipelined-cg"};
  std::string executor = "graph", json;
};

/// Of one solver on all ranks.
struct timing {
  double iteration = 0, setup = 0;  ///< seconds
  double error = 0;                 ///< the largest of an entry of the solution
  index_type iterations = 0;        ///< to 1e-8
  std::string reason, transport;
};

/// Collective. kind: "matrix-free" or "csr".
timing run(const whilst::group& ranks, int device, const std::string& kind, const std::string& method, index_type edge,
           const settings& asked);

}  // namespace scaling
