#include "whilst/linear/distributed/row_partition.hpp"

#include <algorithm>
#include <utility>

#include "whilst/basics/error.hpp"

namespace whilst {

row_partition::row_partition(std::vector<index_type> first) : first_(std::move(first)) {
  if (first_.size() < 2 || first_[0] != 0 || !std::is_sorted(first_.begin(), first_.end())) {
    throw error("making a partition of rows", "the ranks' first rows do not go from 0 on without falling",
                "Give the first row of each rank, then the number of all rows");
  }
}

}  // namespace whilst
