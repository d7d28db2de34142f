#pragma once

#include <optional>
#include <string>

#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

#if WHILST_WITH_CUDA

inline constexpr const char* leave_capture_alone =
    "Leave beginning and ending the capture of its stream to the program";

/// What a caller did wrong, and the cure.
struct finding {
  std::string what, cure;
};

/// For a CUDA error about captures; nothing for other errors.
std::optional<finding> capture_finding(cudaError_t status);

#endif

}  // namespace whilst
