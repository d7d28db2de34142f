#pragma once

#include "solvers/linear/multigrid/sparse_pattern.hpp"

namespace whilst::multigrid {

/// The transpose of a pattern, each row in order, and for each of its entries the entry of the original.
struct transposed_pattern {
  sparse_pattern pattern;
  buffer<std::int32_t> sources;

  transposed_pattern() = default;
  transposed_pattern(place where, const pattern_view& A);
  index_type bytes() const { return pattern.bytes() + sources.bytes(); }
};

}  // namespace whilst::multigrid
