#pragma once

#include <cstdint>

namespace whilst {

/// Number of rows, columns, nonzeros and iterations: 64 bits everywhere.
using index_type = std::int64_t;

}  // namespace whilst
