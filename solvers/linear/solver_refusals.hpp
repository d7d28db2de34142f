#pragma once

#include <string>
#include <string_view>

#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/deflation/deflation.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// What a linear_solver refuses when it is made, because two of its settings exclude each other. `doing` opens the
/// message.

/// Settings that record steps of their own, and executor resident.
template <class T>
void require_steps(std::string_view doing, const linear_solver_options& options) {
  if (options.executor != "resident") return;
  if (!is_format_for_kernels(options.format))
    throw error(doing, "format " + options.format + " records steps of its own, and executor resident is one kernel",
                "Use format csr or auto, or executor graph or stream");
  if (is_preconditioner_in_parts(options))
    throw error(doing,
                "preconditioner " + std::string(name_of_preconditioner(options)) +
                    " records steps of its own, and executor resident is one kernel",
                "Use executor graph, stream or host");
  if (has_null_space(options))
    throw error(doing, "a null space is projected out by steps, and executor resident is one kernel",
                "Use executor graph, stream or host");
  if (has_deflation(options))
    throw error(doing, "vectors are deflated by steps, and executor resident is one kernel",
                "Use executor graph, stream or host");
  if (changes_matrix<T>(options))
    throw error(doing, name_of_change(options) + " is done by steps, and executor resident is one kernel",
                "Use executor graph, stream or host");
}

/// What options give in the order of A's rows, which a permutation replaces; for M, and for the M of preconditioner
/// solve.
inline void require_no_order_of_rows(std::string_view doing, const linear_solver_options& options) {
  const auto refuse = [&](bool is_given, const char* name) {
    if (is_given)
      throw error(
          doing,
          std::string(name) + " is in the order of the matrix, not in that of permutation " + options.permutation,
          "Leave out one of the two");
  };
  preconditioner_choice M = chosen_preconditioner(doing, options);
  if (M.name == "solve") {
    M.options.preconditioner = M.options.solve.preconditioner;
    M = chosen_preconditioner(doing, M.options);
  }
  refuse(M.name == "multigrid", "the grid of preconditioner multigrid");
  refuse(M.name == "amg" && M.options.amg.unknowns_a_node > 1, "unknowns_a_node");
  refuse(M.name == "amg" && !M.options.amg.near_null_space.empty(), "near_null_space");
  refuse(M.name == "amg" && !M.options.amg.coordinates.empty(), "coordinates");
  refuse(M.name == "block_jacobi" && !M.options.block_jacobi.offsets.empty(), "block_jacobi.offsets");
}

/// What has methods iterate with another matrix, beside what knows nothing of it. has_matrix: the operator is one.
/// has_M: the preconditioner is the caller's.
template <class T>
void require_change_of_matrix(std::string_view doing, const linear_solver_options& options, bool has_matrix,
                              bool has_M) {
  if (!changes_matrix<T>(options)) return;
  const std::string what = name_of_change(options);
  if (!has_matrix)
    throw error(doing, what + " is of a matrix, and there is none", "Leave the option out, or give a matrix");
  if (has_null_space(options))
    throw error(doing, what + " does not go with a null space, which is that of the matrix as it is",
                "Leave out one of the two");
  if (has_deflation(options))
    throw error(doing, what + " does not go with deflation, whose vectors are of the matrix as it is",
                "Leave out one of the two");
  if (has_M && (has_scaling(options) || has_permutation(options)))
    throw error(doing, what + " changes the matrix that your preconditioner is for",
                "Leave " + what.substr(0, what.find(' ')) + " out, or use preconditioner jacobi");
  if (has_permutation(options)) require_no_order_of_rows(doing, options);
  if (rounds_values<T>(options) && options.format != automatic_format && !has_float_values(options.format))
    throw error(doing, "format " + options.format + " does not hold values in float", "Use format sell, ell or auto");
  if (options.method == "refined-cg")
    throw error(doing, "method refined-cg has a copy in float of the matrix as it is, without " + what,
                "Use flexible-cg or cg");
}

/// Bounds of eigenvalues that a method would have to estimate, beginning with a vector that has a part in the null
/// space.
inline void require_bounds(std::string_view doing, const linear_solver_options& options, std::string_view method) {
  const bool estimates = (method == "chebyshev" || method == "richardson") &&
                         (options.least_eigenvalue == 0 || options.greatest_eigenvalue == 0);
  if (estimates && has_null_space(options))
    throw error(doing, "method " + options.method + " does not estimate eigenvalues beside a null space",
                "Give least_eigenvalue and greatest_eigenvalue, of M A but for the zeros, or use cg");
  const bool has_bound = options.least_eigenvalue != 0 || options.greatest_eigenvalue != 0;
  if ((method == "chebyshev" || method == "richardson") && has_scaling(options) && has_bound)
    throw error(doing, "least_eigenvalue and greatest_eigenvalue are not those of the scaled matrix",
                "Leave them at 0 to have them estimated, or leave scaling out");
}

/// An operator that the method cannot take. parts: instead of a matrix, or null.
template <class T>
void require_shape(std::string_view doing, const linear_solver_options& options, const linear_method<T>& method,
                   index_type rows, index_type columns, const linear_operator<T>* parts) {
  if (method.needs.transpose && !is_format_for_kernels(options.format))
    throw error(
        doing,
        "format " + options.format + " has no products with the transpose, which method " + options.method + " needs",
        "Use format csr or auto");
  if (method.needs.transpose && parts && !parts->has_transpose())
    throw error(doing, "method " + options.method + " needs products with the transpose, too, and there are none",
                "Give those, or use another method");
  if (method.needs.transpose && has_null_space(options))
    throw error(doing, "method " + std::string(method.name) + " needs no null space to find the solution of least norm",
                "Set null_space to none, or use another method");
  if (method.needs.transpose && has_deflation(options))
    throw error(doing, "deflation is for A, and method " + std::string(method.name) + " wants a preconditioner for A'A",
                "Leave the vectors out, or use another method");
  if (method.needs.transpose && changes_matrix<T>(options))
    throw error(doing,
                name_of_change(options) + " has no products with the transpose, which method " +
                    std::string(method.name) + " needs",
                "Leave the option out, or use another method");
  if (method.needs.symmetric && options.scaling == "rows")
    throw error(doing, "scaling rows destroys symmetry, which method " + std::string(method.name) + " needs",
                "Use scaling symmetric or equilibrate, or another method");
  if (method.needs.symmetric && has_matching(options))
    throw error(doing,
                "permutation " + options.permutation + " destroys symmetry, which method " + std::string(method.name) +
                    " needs",
                "Use permutation rcm or degree, or a method for any square matrix, as bicgstab");
  require_bounds(doing, options, method.name);
  if (method.needs.transpose || rows == columns) return;
  std::string which;
  for (const linear_method<T>& one : linear_methods<T>())
    if (one.needs.transpose) which += (which.empty() ? "" : ", ") + std::string(one.name);
  throw error(doing, "the matrix has " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
              "Give a square one, or use a method for any shape: " + which);
}

}  // namespace whilst
