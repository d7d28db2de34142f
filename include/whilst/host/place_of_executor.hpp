#pragma once

#include <string>

#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// The place that the named executor runs on: the CPU, or GPU `device` (-1: the current one). "auto" consults the
/// environment variable WHILST_EXECUTOR first, then takes the GPU if there is one. Use it to place the data of an
/// objective or of equations before you construct a minimizer or a solver. Throws whilst::error if there is no such
/// executor.
place place_of_executor(const std::string& executor = "auto", int device = -1);

}  // namespace whilst
