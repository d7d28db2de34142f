#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "solvers/linear/permutation/permutation.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// What the options scaling, permutation and matrix_values have methods iterate with instead of the matrix A: R A C,
/// P A Q, and values rounded to float. Each is a substitute_operator: see substituted_matrix.hpp. Methods know nothing
/// of it.

enum class scaling_kind {
  none,
  /// R_i = 1 / max_j |a_ij|.
  rows,
  /// R_i = C_i = 1 / sqrt |a_ii|, or 1 where that is zero. A. van der Sluis, "Condition numbers and equilibration of
  /// matrices", Numer. Math. 14 (1969).
  symmetric,
  /// The largest entry of each row and column becomes about 1. D. Ruiz, "A scaling algorithm to equilibrate both rows
  /// and columns norms in matrices", RAL-TR-2001-034 (2001), Algorithm 1 in the maximum norm: a symmetric matrix stays
  /// so.
  equilibrate,
};

/// All names, "none" first.
std::vector<std::string> scaling_names();
/// Throws whilst::error on a name that is not one of them.
scaling_kind scaling_from_name(std::string_view doing, std::string_view scaling);
inline bool has_scaling(const linear_solver_options& options) { return options.scaling != "none"; }

/// Whether values of this type are rounded, which those of float are not.
template <class T>
bool rounds_values(const linear_solver_options& options) {
  return options.matrix_values == "float" && sizeof(T) > sizeof(float);
}

/// Whether methods iterate with another matrix than the one given.
template <class T>
bool changes_matrix(const linear_solver_options& options) {
  return has_scaling(options) || has_permutation(options) || rounds_values<T>(options);
}
/// Whether preconditioners of the matrix cannot be made: they are for the matrix as it is, or permuted.
template <class T>
bool changes_values(const linear_solver_options& options) {
  return has_scaling(options) || rounds_values<T>(options);
}
/// "scaling rows", for messages: the first of those that changes_matrix has, and of those that changes_values has.
std::string name_of_change(const linear_solver_options& options);
std::string name_of_change_of_values(const linear_solver_options& options);
/// Throws whilst::error on values of these options that are none of those known.
void check_scaling(std::string_view doing, const linear_solver_options& options);

}  // namespace whilst
