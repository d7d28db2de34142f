#pragma once

#include <cstdint>

namespace whilst {

/// Number of rows, columns, nonzeros and iterations: 64 bits everywhere.
/// Write whilst::index: POSIX has a global function `index`, so `using namespace whilst` makes the bare name ambiguous.
using index = std::int64_t;

}  // namespace whilst
