#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "solvers/linear/formats/host_pattern.hpp"

namespace whilst {

/// Block compressed sparse rows: dense blocks of b x b, row by row within a block, and one column index a block; see R.
/// Barrett et al., "Templates for the Solution of Linear Systems" (1994), section 4.3.1. b need not divide the number
/// of rows. Entries of a block that the matrix does not have are padding: such a block's column is stored as its
/// complement, and a mask has a bit for each entry that is there.
struct bsr_layout {
  int block;  ///< b, 2 to 6
  std::vector<std::int32_t> row_offsets, columns, origin;
  std::vector<std::uint64_t> masks;  ///< empty if all blocks are full
};

/// The blocks whose product reads least, if that is no more than CSR reads: this bounds the fill-in, for 3 x 3 blocks
/// in double to 1.42 stored entries for each nonzero. Beyond it nothing is left to gain, and it throws whilst::error.
/// bytes_each: of a value.
bsr_layout lay_out_blocks(const host_pattern& A, index_type bytes_each);

/// Calls with(b) for the block size as a constant.
template <class With>
auto with_block(int block, const With& with) {
  switch (block) {
    case 2:
      return with(std::integral_constant<int, 2>());
    case 3:
      return with(std::integral_constant<int, 3>());
    case 4:
      return with(std::integral_constant<int, 4>());
    case 5:
      return with(std::integral_constant<int, 5>());
    default:
      return with(std::integral_constant<int, 6>());
  }
}

}  // namespace whilst
