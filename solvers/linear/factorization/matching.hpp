#pragma once

#include <optional>

#include "solvers/linear/factorization/factorization_bounds.hpp"
#include "solvers/linear/factorization/sparse_rows.hpp"

namespace whilst::factorization {

/// Which column each row is matched with, and scales by which the matched entries become 1 in size.
struct matching {
  indices column_of_row;   ///< a permutation: row i of the permuted matrix has this column on its diagonal
  index_type matched = 0;  ///< rows whose column has an entry; the other rows take the columns that are left
  log_scales scales;       ///< entries are at most 1 in size, and matched ones are 1, but for rounding
};

/// Matches rows and columns so that the product of the matched entries' sizes is as large as can be: I. S. Duff,
/// J. Koster, "On algorithms for permuting large entries to the diagonal of a sparse matrix", SIAM J. Matrix Anal.
/// Appl. 22 (2001) 973-996, their maximum product
/// transversal with scaling, job 5 of MC64. Each column is matched along a shortest augmenting path,
/// for costs c_ij = log max_i |a_ij| - log |a_ij|; the dual variables u_i + v_j <= c_ij are the scales.
///
/// A structurally singular matrix has no perfect matching: then as many rows as possible are matched, and the product
/// is the largest for the columns that are.
///
/// O(n (nonzeros + n) log n) at worst, mostly far less.
matching maximum_product_matching(const sparse_rows& A);
/// The same, or nothing where it takes more than a fifth of the operations, or too long.
std::optional<matching> maximum_product_matching(const sparse_rows& A, const factorization_bounds& bounds);

}  // namespace whilst::factorization
