#pragma once

#include <cstddef>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Which rank has which rows, or entries of vectors: rank q those from first(q) to first(q + 1) - 1, perhaps none.
class row_partition {
 public:
  row_partition() = default;  ///< of one rank without rows
  /// One more entry than ranks, from 0 to the number of rows, never falling; else throws whilst::error.
  explicit row_partition(std::vector<index_type> first);

  int ranks() const { return static_cast<int>(first_.size()) - 1; }
  index_type rows() const { return first_.back(); }
  index_type first(int rank) const { return first_[static_cast<std::size_t>(rank)]; }
  index_type rows_of(int rank) const { return first(rank + 1) - first(rank); }
  bool has(int rank, index_type row) const { return first(rank) <= row && row < first(rank + 1); }
  bool operator==(const row_partition&) const = default;

 private:
  std::vector<index_type> first_{0, 0};
};

}  // namespace whilst
