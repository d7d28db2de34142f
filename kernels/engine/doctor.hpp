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

/// Captures the calls of each body, and those outside, by themselves and throws that away: each call is made once more,
/// before a body's capture begins, where an error may bring the driver down. Throws whilst::error that names the first
/// call that breaks its capture or leaves it unjoined. Returns the first one that puts into a body what drivers may
/// refuse there: no error before one does, since a later driver may take more. `stream` is not capturing, neither
/// before nor after.
std::optional<finding> rehearse_calls(const std::vector<operation>& operations, cudaStream_t stream);

/// Makes a call whose stream is being captured. Throws whilst::error that names the call and what it did, where that
/// has broken or ended the capture; else what the call throws goes on as it is.
void make_captured_call(const program_node& call, cudaStream_t stream);

/// Throws whilst::error for `expression`, which failed with `status` since somebody did what the suspect did; as any
/// failing CUDA call where there is no suspect.
[[noreturn]] void fail_for(const std::optional<finding>& suspect, const std::string& doing, const char* expression,
                           cudaError_t status);

/// Throws whilst::error if the stream is being captured, where a program is to run step by step.
void require_no_capture(cudaStream_t stream);

/// A step or a call as a graph by itself, recorded on `stream`. Throws whilst::error as above.
cuda::graph_exec record_alone(const operation& op, cudaStream_t stream);

#endif

}  // namespace whilst
