#pragma once

#include "solvers/linear/geometric_multigrid/grid_level.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst::geometric_multigrid {

/// A stencil with constant coefficients on a grid of interior points, one mesh width away from the boundary.
struct grid_problem {
  int points[3] = {1, 1, 1};
  stencil<double> of = {};

  /// What a point between all its neighbours has on the diagonal.
  double diagonal() const { return 2 * (of.axis[0] + of.axis[1] + of.axis[2]) + of.shift; }
};

/// The grid and the coefficients of a matrix whose values lie at matrix.values. Its first row tells both, and the
/// others are compared with it, on the matrix's place; waits. Axes of one point are none. Throws whilst::error where
/// the matrix is not that of a 3-, 5- or 7-point stencil, the same in each row but for the boundary, with negative
/// entries beside a diagonal that is at least as large as they are in sum.
template <class T>
grid_problem problem_of_matrix(const solve_request<T>& matrix);

}  // namespace whilst::geometric_multigrid
