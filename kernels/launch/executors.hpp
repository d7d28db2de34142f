#pragma once

#include <vector>

#include "kernels/launch/cuda.hpp"
#include "kernels/launch/lowering.hpp"

namespace whilst {

/// Runs a step or a call on the calling thread (a step on OpenMP's threads).
void run_one_on_host(const operation& op);

/// Runs the operations one by one, each step and call by `run`; returns when they are done. A step that its loop's
/// verdict holds back is not run.
void run_on_host(const std::vector<operation>& operations, const operation_runner& run = run_one_on_host);

#if WHILST_WITH_CUDA

/// Launches a step or a call, within an NVTX range of its name.
void run_one_on_stream(const operation& op, cudaStream_t stream);

/// Launches the operations one by one, each step and call by `run`; waits for the device wherever a loop or a branch
/// must be decided. `flag_on_host` is pinned memory for the flag. A step that its loop's verdict holds back is launched
/// all the same, and finds out by itself.
void run_on_stream(const std::vector<operation>& operations, cudaStream_t stream, int* flag_on_host,
                   const operation_runner& run);

/// How a graph is made.
struct graph_means {
  const std::vector<cuda::stream>& body_streams;  ///< one for each level of depth, none of them capturing
  bool switch_nodes;                              ///< a select may be a SWITCH node; without, it is an IF node a body
};

/// Appends the operations to the capture in progress on `stream`: steps as kernel nodes, loops as WHILE nodes, branches
/// as IF nodes, bodies side by side as paths that meet again.
void capture_into(const lowered_program& lowered, cudaStream_t stream, const graph_means& means);

/// The operations as a graph by itself, recorded on `stream`.
cuda::graph_exec make_graph(const lowered_program& lowered, cudaStream_t stream, const graph_means& means);

#endif

}  // namespace whilst
