#pragma once

#include <functional>
#include <vector>

#include "kernels/engine/lowering.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

/// Runs a step or a call on the calling thread (a step also on others: see run_on_threads).
void run_one_on_host(const operation& op);

/// Receives, on the host, each trip through one loop. For executors that decide on trips there.
struct trip_listener {
  const control* loop = nullptr;
  std::function<void(const loop_state& after_trip)> tell;
};

/// Runs the operations one by one, each step and call by `run`; returns when they are done. Skips steps held back by
/// their loop's verdict.
void run_on_host(const std::vector<operation>& operations, const operation_runner& run = run_one_on_host,
                 const trip_listener& listener = {});

#if WHILST_WITH_CUDA

/// Launches a step or a call within an NVTX range of its name.
void run_one_on_stream(const operation& op, cudaStream_t stream);

/// Launches the operations one by one, each step and call by `run`; waits for the device at each decision on a loop or
/// a branch. `flag_on_host` is pinned memory for the flag. A step held back by its loop's verdict is launched all the
/// same and skips itself.
void run_on_stream(const std::vector<operation>& operations, cudaStream_t stream, int* flag_on_host,
                   const operation_runner& run, const trip_listener& listener = {});

/// How to make a graph.
struct graph_means {
  const std::vector<cuda::stream>& body_streams;  ///< one per nesting level, none of them capturing
  bool switch_nodes;  ///< a select may be a SWITCH node; otherwise it is one IF node per body
};

/// Appends the operations to the capture in progress on `stream`: steps as kernel nodes, loops as WHILE nodes, branches
/// as IF nodes, parallel bodies as paths that rejoin.
void capture_into(const lowered_program& lowered, cudaStream_t stream, const graph_means& means);

/// A kernel node of a step, with what its arguments are made from.
struct step_node {
  const recorded_step* step;
  cudaGraphNode_t node;
  launch_shape shape;
  step_frame frame;  ///< including its conditions
};

/// An instantiated graph with its source graph, whose nodes identify those of the instance.
struct made_graph {
  cuda::graph recorded;
  cuda::graph_exec exec;
  std::vector<step_node> steps;
  std::vector<cudaGraphNode_t> writers;  ///< of the parameters
  std::vector<word_write> written;       ///< what they currently write

  /// Gives the step's nodes its current arguments, for later launches.
  void update(const recorded_step& step) const;
  /// Gives the writers these words, as many as they have now, for later launches.
  void set_words(const std::vector<word_write>& words);
};

/// The operations as their own graph, recorded on `stream`. Its first nodes write `words`, if any.
made_graph make_graph(const lowered_program& lowered, const std::vector<word_write>& words, cudaStream_t stream,
                      const graph_means& means);

#endif

}  // namespace whilst
