#pragma once

#include <cstdint>

namespace whilst {

/// A deadline in seconds as control_settings wants it; 0, none, for infinity.
inline std::uint64_t nanoseconds_of(double deadline) {
  constexpr double forever = 1e9;  // from here on, in seconds, a deadline is none
  return deadline < forever ? static_cast<std::uint64_t>(deadline * 1e9) + 1 : 0;
}

}  // namespace whilst
