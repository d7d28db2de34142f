#pragma once

#include <cstdint>
#include <vector>

#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// Prefix sums in memory of a place: offsets[i] = counts[0] + ... + counts[i - 1], i <= n. Pieces of 32 counts are
/// added up, then pieces of these sums, and so on; on the way back each piece begins with the sum of those before it.
class offsets_from_counts {
 public:
  offsets_from_counts(place where, index_type n);
  /// offsets has n + 1 entries. A sum beyond 32 bits becomes the largest number that they hold.
  void record(recorder& run, const std::int32_t* counts, std::int32_t* offsets) const;

 private:
  index_type n_;
  std::vector<buffer<std::int32_t>> sums_;  ///< of pieces, of pieces of these, ...
};

}  // namespace whilst::multigrid
