#pragma once

#include <string>

#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// The place that an executor by that name runs on: the CPU, or GPU `device` (-1: the current one). "auto" asks the
/// environment variable WHILST_EXECUTOR first, then takes the GPU if there is one. For what is to be minimized or
/// solved, which has to be there before a minimizer or a solver can be made. Throws whilst::error where there is no
/// such executor.
place place_of_executor(const std::string& executor = "auto", int device = -1);

}  // namespace whilst
