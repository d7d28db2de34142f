#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Settings of preconditioner "block_jacobi", the inverses of blocks on the diagonal. As text:
/// "block_jacobi,rows=8,precision=double".
struct block_jacobi_options {
  /// Rows of a block, the last of which may have fewer: 1 to 64; 0 for what suits the matrix: where its nonzeros form
  /// full blocks of 2 x 2 to 6 x 6, as many rows as these have, else 16.
  index_type rows = 0;
  /// Which rows a block has: "natural" for consecutive ones, or "aggregated" for rows that are joined by large entries,
  /// wherever they are; these blocks have up to `rows` rows, 16 where it is 0. They are found once, from the values
  /// that the solver is made with.
  std::string blocks = "natural";
  /// The numbers of the inverses: "float", "double", or "auto" for "float". They are made in double in any case, and
  /// products with them are in the numbers of the solver. A block that is singular to this precision counts as its
  /// diagonal alone.
  std::string precision = "auto";
  /// Blocks of your own, instead of `rows`: block k has rows offsets[k] to offsets[k + 1] - 1, 1 to 64 of them. Begins
  /// with 0, and ends with the number of rows; empty for none. Not with aggregated blocks.
  std::vector<index_type> offsets = {};

  bool operator==(const block_jacobi_options&) const = default;
};

}  // namespace whilst
