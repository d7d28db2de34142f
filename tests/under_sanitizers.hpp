#pragma once

namespace whilst_test {

/// Whether the address and undefined behaviour sanitizers watch the tests: what they run then takes 20 times as long,
/// and no fault of memory needs each combination of settings to show.
#if defined(WHILST_SANITIZE)
inline constexpr bool under_sanitizers = true;
#else
inline constexpr bool under_sanitizers = false;
#endif

}  // namespace whilst_test
