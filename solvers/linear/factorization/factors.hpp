#pragma once

#include <string>

#include "solvers/linear/factorization/factorization_bounds.hpp"
#include "solvers/linear/factorization/triangle_levels.hpp"
#include "whilst/linear/preconditioners/ilu_options.hpp"

namespace whilst::factorization {

enum class factors_kind { ilu, ic };

/// Incomplete factors as they are applied, to z = C U^-1 L^-1 R r. Vectors are in the order of the levels that they
/// belong to, so that no permutation costs a step:
///
///   y_k = R_k r[source_k] - sum over row k of L of l_e y[column_e]
///   w_k = (y[between_k] - sum over row k of U of u_e w[column_e]) / pivot_k
///   z[target_k] = C_k w_k
struct factors {
  triangle_levels L, U;
  indices source, between, target;
  std::vector<double> row_scale, inverse_pivot, column_scale;
  std::string description;  ///< "12345 nonzeros, 2.1 of the matrix's; 87 levels; matched; rcm"
};

/// Scales and permutes A as the options say, eliminates, and orders the triangles by levels. For ic the symmetric part
/// of A counts, or its negative if the trace is negative: then C is negative.
/// Throws whilst::error where the factors of ilu take more than the bounds.
factors factorize(const sparse_rows& A, factors_kind kind, const ilu_options& options,
                  const factorization_bounds& bounds = {});

}  // namespace whilst::factorization
