#pragma once

namespace whilst {

/// The version of Whilst, following semantic versioning. This line is its only source: the build reads it too.
inline constexpr const char* version = "0.1.0";

}  // namespace whilst
