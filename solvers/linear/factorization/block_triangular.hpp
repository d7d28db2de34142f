#pragma once

#include "solvers/linear/factorization/sparse_rows.hpp"

namespace whilst::factorization {

/// The strongly connected components of a matrix's graph, in an order that makes it block upper triangular: block k
/// has the rows order[offsets[k]] to order[offsets[k + 1] - 1], ascending, and no entries left of its first column.
/// Factors then fill in above the blocks and within them, but nothing below. For a matrix whose diagonal has entries: a
/// matched one. R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972) 146-160; I. S.
/// Duff, J. K. Reid, "An implementation of Tarjan's algorithm for the block triangularization of a matrix", ACM Trans.
/// Math. Softw. 4 (1978) 137-147. O(nonzeros).
struct diagonal_blocks {
  indices order, offsets;

  std::size_t count() const { return offsets.size() - 1; }
};
diagonal_blocks block_triangular_order(const sparse_rows& A);

}  // namespace whilst::factorization
