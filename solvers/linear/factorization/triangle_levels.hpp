#pragma once

#include "solvers/linear/factorization/sparse_rows.hpp"

namespace whilst::factorization {

/// The rows of a triangle in an order in which those of a level stand together: a row needs rows of earlier levels
/// alone. Rows and columns are numbered anew, by their place. E. Anderson, Y. Saad, "Solving sparse triangular linear
/// systems on parallel computers", Int. J. High Speed Comput. 1 (1989) 73-95.
struct triangle_levels {
  indices row_at;         ///< the row at each place
  indices level_offsets;  ///< the places where levels begin, and the end
  sparse_rows rows;       ///< columns as places, in no order

  index_type levels() const { return static_cast<index_type>(level_offsets.size()) - 1; }
};

/// For the entries beside the diagonal; upper: the last row comes first.
triangle_levels in_levels(const sparse_rows& triangle, bool upper);

}  // namespace whilst::factorization
