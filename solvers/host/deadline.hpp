#pragma once

#include <cstdint>

namespace whilst {

/// Converts a deadline in seconds for control_settings; infinity becomes 0, none.
inline std::uint64_t nanoseconds_of(double deadline) {
  constexpr double forever = 1e9;  // seconds; from here on there is no deadline
  return deadline < forever ? static_cast<std::uint64_t>(deadline * 1e9) + 1 : 0;
}

}  // namespace whilst
