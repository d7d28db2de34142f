#pragma once

#include <string>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// Where the eigenvalues of a symmetric matrix lie. All numbers are NaN, or norm alone is infinite, where the matrix is
/// not finite; least and greatest are NaN as well where sums of a row's entries exceed what T holds.
struct eigenvalue_range {
  /// Estimates from within: no eigenvalue is less than the least one, which is no more than this; and likewise.
  double least, greatest;
  /// The largest sum of the sizes of a row's entries: every eigenvalue is in [-norm, norm].
  double norm;
};

/// Settings of estimate_eigenvalue_range.
struct eigenvalue_range_options {
  /// Each reads the matrix once; 1 to 64. Twenty find most extremes to some percent.
  int lanczos_steps = 20;
  /// As in eigenvalue_options.
  std::string executor = "auto";
  int device = -1;
};

/// The extreme eigenvalues of a symmetric matrix, roughly, by Lanczos steps from a vector of random signs. They follow
/// C. Lanczos, J. Res. Nat. Bur. Standards 45 (1950), and are recorded as one program and run once. For digits, and
/// vectors, use an eigenvalue_solver. Throws whilst::error on a matrix that is not square and symmetric, has no rows,
/// on other numbers of steps and on an executor that this machine does not have.
template <class T>
eigenvalue_range estimate_eigenvalue_range(const csr_matrix<T>& A, const eigenvalue_range_options& options = {});

extern template eigenvalue_range estimate_eigenvalue_range(const csr_matrix<float>&, const eigenvalue_range_options&);
extern template eigenvalue_range estimate_eigenvalue_range(const csr_matrix<double>&, const eigenvalue_range_options&);

}  // namespace whilst
