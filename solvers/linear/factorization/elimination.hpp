#pragma once

#include "solvers/linear/factorization/factorization_bounds.hpp"
#include "solvers/linear/factorization/sparse_rows.hpp"

namespace whilst::factorization {

/// What an incomplete elimination leaves out; as in ilu_options.
struct elimination_rules {
  double drop = 0;
  index_type most_of_row = 0;  ///< entries that a row of L keeps, and one of U, besides the diagonal; 0: no bound
  int levels = -1;
  double pivoting = 0;
  /// With pivoting: row i exchanges columns below this alone; empty for all. See block_triangular_order.
  indices block_ends = {};
  factorization_bounds bounds = {};
};

/// A is close to L (D + U), with its columns in the order column_at.
struct incomplete_factors {
  sparse_rows L;               ///< below the diagonal, which is 1
  sparse_rows U;               ///< above the diagonal
  std::vector<double> pivots;  ///< D: finite, and none is 0
  indices column_at;
  int replaced_pivots = 0;  ///< pivots that were too small, and became larger
  double shift = 0;         ///< A + shift |D(A)| was factored
};

/// ILUT: Y. Saad, Numer. Linear Algebra Appl. 1 (1994) 387-402. With column exchanges ILUTP, with levels of fill
/// ILU(k): Saad, Iterative Methods for Sparse Linear Systems (2003), section 10.4.4 and algorithm 10.5. A pivot that is
/// 0, but for rounding, is replaced by one of the size of what is left out of its row. Throws whilst::error beyond the
/// bounds.
incomplete_factors incomplete_lu(const sparse_rows& A, const elimination_rules& rules);

/// The incomplete L D L' of a symmetric matrix, of which the upper triangle is read; U is D L'. Columns are made in
/// turn, and keep their largest entries, as in C.-J. Lin, J. J. More, "Incomplete Cholesky factorizations with limited
/// memory", SIAM J. Sci. Comput. 21 (1999) 24-45. Where a pivot is not positive, A + shift |D(A)| is factored instead,
/// with a larger shift each time: T. A. Manteuffel, "An incomplete factorization technique for positive definite linear
/// systems", Math. Comp. 34 (1980) 473-497. The first shift is ten times the drop, 1e-3 at most. Throws whilst::error
/// beyond the bounds.
incomplete_factors incomplete_cholesky(const sparse_rows& A, const elimination_rules& rules);

/// Throws whilst::error: the work went beyond the bounds after so many rows.
[[noreturn]] void refuse_factors(const work_meter& work, index_type made, index_type rows, std::int64_t nonzeros);

/// The largest entry of U^-1 D^-1 L^-1 e, e all ones: a lower bound of the inverse's norm, and where it is huge a sign
/// of unstable factors. Saad, Iterative Methods for Sparse Linear Systems (2003), section 10.4.5.
double growth_of_solves(const incomplete_factors& made);

}  // namespace whilst::factorization
