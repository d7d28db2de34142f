#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/group/group.hpp"
#include "whilst/linear/distributed/row_partition.hpp"

namespace scaling {

using whilst::index_type;

/// A grid of edge x edge x planes points.
struct box {
  index_type edge, planes;
  index_type plane() const { return edge * edge; }
  index_type points() const { return plane() * planes; }
};

struct settings {
  int threads = 1, iterations = 300, repetitions = 5;
  /// Of cubes that ranks share; and of those that each rank has one of, side by side.
  std::vector<index_type> edges{24, 100, 216}, weak_edges;
  /// Of cubes that ranks share, for solves with the preconditioner amg.
  std::vector<index_type> amg_edges;
  std::vector<std::string> kinds{"matrix-free", "csr"};
  std::vector<std::string> methods{"cg", "pipelined-cg"};
  std::vector<std::string> loops{"whilst", "nccl-host", "nccl-graph"};
  std::string executor = "graph", transport = "auto", json;
  bool adds = false;
};

/// Of one solver on all ranks.
struct timing {
  double iteration = 0, setup = 0;  ///< seconds
  double error = 0;                 ///< the largest of an entry of the solution
  double residual = 0;              ///< |b - A x| / |b|, computed anew
  index_type iterations = 0;        ///< to 1e-8
  double solve = 0;                 ///< seconds of these
  /// Seconds from a cancel on one rank to the end of the solve on all, the longest of those on each rank; of small
  /// problems alone, where the copy of x takes no time that counts.
  std::optional<double> cancel;
  std::string reason, transport;
};

// Collective. kind: "matrix-free" or "csr", or "csr, amg", whose iterations are not timed by themselves.

timing run(const whilst::group& ranks, int device, const std::string& kind, const std::string& method,
           const box& points, const settings& asked);

/// The entries of the solution to find: smooth, and none alike.
inline double wanted(index_type row) { return 1 + 1e-3 * static_cast<double>(row % 1000); }
/// A times that, for the rows of a rank.
std::vector<double> right_hand_side(const whilst::row_partition& partition, int rank, const box& points);
/// The largest error of an entry of a rank's x, over all ranks.
double largest_error(const whilst::group& ranks, const std::vector<double>& x, index_type first);
/// |b - A x| / |b|, on the host.
double relative_residual(const whilst::group& ranks, const std::vector<double>& b, const std::vector<double>& x,
                         const box& points);

struct nccl_ranks;

/// The same cg by NCCL: ncclAllReduce adds up sums, ncclSend and ncclRecv exchange halos. Either all of it is captured
/// in the body of a WHILE node, or the host launches it and reads the norm of the residual in each iteration.
class nccl_loops {
 public:
  static bool are_built();
  nccl_loops(const whilst::group& ranks, int device);
  ~nccl_loops();
  timing run(const std::string& kind, const box& points, const settings& asked, bool in_graph) const;

 private:
  std::unique_ptr<nccl_ranks> ranks_;
};

}  // namespace scaling
