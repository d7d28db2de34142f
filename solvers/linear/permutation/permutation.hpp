#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "solvers/linear/factorization/sparse_rows.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// What the option permutation has methods iterate with instead of the matrix A: P R A C Q. See permuted_matrix.hpp.

/// All names, "none" first.
std::vector<std::string> permutation_names();
inline bool has_permutation(const linear_solver_options& options) { return options.permutation != "none"; }
/// Whether rows and columns get orders that differ, so that symmetry is lost.
inline bool has_matching(const linear_solver_options& options) { return options.permutation.starts_with("matching"); }
/// Throws whilst::error on a name that is none of them, and on a matching with scales that it leaves no diagonal for.
void check_permutation(std::string_view doing, const linear_solver_options& options);

/// Row k of the permuted matrix is row rows[k] of A, column k is column columns[k].
struct permutation {
  factorization::indices rows, columns;
  factorization::log_scales scales;  ///< of a matching, of A's rows and columns; empty without one
};

/// Finds the permutation of that name for a square matrix in host memory. Throws whilst::error, beginning with `doing`,
/// where a matching finds A structurally singular. What is not finite is left to a solve to tell of.
template <class T>
permutation find_permutation(std::string_view doing, std::string_view name, const csr_matrix<T>& A);

}  // namespace whilst
