#pragma once

#include "solvers/linear/factorization/sparse_rows.hpp"

namespace whilst::factorization {

/// An order of rows and columns that keeps entries near the diagonal: entry k is the row that comes k-th. For a
/// symmetric pattern. E. Cuthill, J. McKee, "Reducing the bandwidth of sparse symmetric matrices", Proc. 24th ACM Nat.
/// Conf. (1969) 157-172; reversed, and begun far out in each component: A. George, J. W. H. Liu, "An implementation of
/// a pseudoperipheral node finder", ACM Trans. Math. Softw. 5 (1979) 284-295.
indices reverse_cuthill_mckee(const sparse_rows& pattern);

}  // namespace whilst::factorization
