#pragma once

#include "whilst/host/solve_outcome.hpp"

namespace whilst {

/// Most eigenpairs of one solve.
inline constexpr int most_eigenpairs = 16;

/// What a solve for eigenpairs leaves for its ticket.
struct eigenvalue_outcome {
  solve_outcome outcome;
  double eigenvalues[most_eigenpairs], residual_norms[most_eigenpairs];
};

}  // namespace whilst
