#pragma once

#include <string>

namespace whilst {

/// Settings of preconditioner "solve": some iterations of another method, within the loop of a flexible one. As text:
/// "solve,method=bicgstab,iterations=20,rtol=0.1".
struct inner_solve_options {
  /// Any method for square matrices that has no copy of its own of the matrix, as refined-cg has. "auto": "cg" within
  /// methods for symmetric matrices, else "bicgstab".
  std::string method = "auto";
  /// At most so many in an application; 1 to 1000. Of gmres and fgmres also those of a cycle.
  int iterations = 10;
  /// An application ends earlier where its residual is at most this times the vector it is applied to; at least 0,
  /// below 1.
  double rtol = 0.1;
  /// The inner method's own: "none", "jacobi", or one that is made from the matrix. Its settings are those of the
  /// options, as linear_solver_options::amg.
  std::string preconditioner = "jacobi";
  /// The numbers of vectors and matrix in the inner iterations: "float", or "auto" for those of the solver.
  std::string precision = "auto";

  bool operator==(const inner_solve_options&) const = default;
};

}  // namespace whilst
