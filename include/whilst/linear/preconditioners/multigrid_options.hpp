#pragma once

#include <string>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Settings of preconditioner "multigrid", for stencils on grids. As text: "multigrid,sweeps=2,precision=double".
struct multigrid_options {
  /// The numbers of the cycle: "float", "double", or "auto" for "float". A linear_solver with method cr takes "auto"
  /// for "double", since the recurrence for M r wants the last digits; make_multigrid does not know the method.
  std::string precision = "auto";
  /// How often a cycle visits coarser grids: "V" once, "W" twice.
  std::string cycle = "V";
  /// Sweeps that smooth before the coarse correction, and as many after it; 1 to 8.
  int sweeps = 1;
  /// The coarsest grid has at most so many points, and its matrix is inverted; 1 to 2048, or 0 for 1024 on a GPU and
  /// 256 on the host.
  index_type coarsest_rows = 0;

  bool operator==(const multigrid_options&) const = default;
};

}  // namespace whilst
