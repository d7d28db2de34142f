#pragma once

/// Finds out which call of a program a CUDA graph cannot hold, why, and what to do about it: CUDA itself names neither.

#include <optional>
#include <string>
#include <vector>

#include "kernels/engine/lowering.hpp"
#include "kernels/engine/memory/capture_finding.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

#if WHILST_WITH_CUDA

/// Captures the calls of each body, and those outside, separately and discards the result: each call is made once more,
/// before a body's capture begins, where an error may crash the driver. Throws whilst::error naming the first call that
/// breaks its capture or leaves it unjoined. Returns the first one that puts into a body what drivers may refuse there:
/// no error until one does, since a later driver may accept more. `stream` is not capturing, before or after.
std::optional<finding> rehearse_calls(const std::vector<operation>& operations, cudaStream_t stream);

/// Makes a call whose stream is being captured. Throws whilst::error naming the call and what it did if that broke or
/// ended the capture; otherwise passes on what the call throws.
void make_captured_call(const program_node& call, cudaStream_t stream);

/// Throws whilst::error for `expression`, which failed with `status` because of the suspect; as for any failing CUDA
/// call if there is no suspect.
[[noreturn]] void fail_for(const std::optional<finding>& suspect, const std::string& doing, const char* expression,
                           cudaError_t status);

/// Throws whilst::error if the stream is being captured, when a program must run step by step.
void require_no_capture(cudaStream_t stream);

/// A step or a call as its own graph, recorded on `stream`. Throws whilst::error as above.
cuda::graph_exec record_alone(const operation& op, cudaStream_t stream);

#endif

}  // namespace whilst
