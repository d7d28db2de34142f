#pragma once

#include <optional>

#include "solvers/linear/factorization/factorization_bounds.hpp"
#include "solvers/linear/factorization/sparse_rows.hpp"

namespace whilst::factorization {

/// An order of rows and columns that keeps entries near the diagonal: entry k is the row that comes k-th. For a
/// symmetric pattern. E. Cuthill, J. McKee, "Reducing the bandwidth of sparse symmetric matrices", Proc. 24th ACM Nat.
/// Conf. (1969) 157-172; reversed, and begun far out in each component: A. George, J. W. H. Liu, "An implementation of
/// a pseudoperipheral node finder", ACM Trans. Math. Softw. 5 (1979) 284-295.
indices reverse_cuthill_mckee(const sparse_rows& pattern);

/// An order that keeps elimination from filling rows: the row with the fewest neighbours is next, by bounds of their
/// number. Rows of many levels then wait for few others. For a symmetric pattern. P. R. Amestoy, T. A. Davis, I. S.
/// Duff, "An approximate minimum degree ordering algorithm", SIAM J. Matrix Anal. Appl. 17 (1996) 886-905, without
/// supervariables.
indices minimum_degree(const sparse_rows& pattern);
/// The same, or nothing where it takes more than a fifth of the operations, or too long.
std::optional<indices> minimum_degree(const sparse_rows& pattern, const factorization_bounds& bounds);

}  // namespace whilst::factorization
