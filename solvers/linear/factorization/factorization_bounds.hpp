#pragma once

#include <cstdint>
#include <limits>

namespace whilst::factorization {

/// What making factors may take, where something else can be done instead.
struct factorization_bounds {
  std::int64_t most_nonzeros = std::numeric_limits<std::int64_t>::max();    ///< of both factors
  std::int64_t most_operations = std::numeric_limits<std::int64_t>::max();  ///< multiply-adds
};

}  // namespace whilst::factorization
