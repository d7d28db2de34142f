#pragma once

#include <cstdlib>

namespace whilst_test {

/// Whether compute-sanitizer's racecheck runs the tests, as scripts/gpu-check tells them. They then record no graphs:
/// in bodies of conditional nodes, version 2025.3.1 reports races between kernels that share no memory, and corrupts
/// its own heap. Streams run the same kernels.
inline bool under_racecheck() { return std::getenv("WHILST_TEST_UNDER_RACECHECK") != nullptr; }

}  // namespace whilst_test
