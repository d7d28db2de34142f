#pragma once

#include <functional>
#include <vector>

#include "kernels/engine/lowering.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

/// Runs a step or a call on the calling thread (a step also on others: see run_on_threads).
void run_one_on_host(const operation& op);

/// Who is told, on the host, of each trip through one loop. For executors that decide there whether a trip is made.
struct trip_listener {
  const control* loop = nullptr;
  std::function<void(const loop_state& after_trip)> tell;
};

/// Runs the operations one by one, each step and call by `run`; returns when they are done. A step that its loop's
/// verdict holds back is not run.
void run_on_host(const std::vector<operation>& operations, const operation_runner& run = run_one_on_host,
                 const trip_listener& listener = {});

#if WHILST_WITH_CUDA

/// Launches a step or a call, within an NVTX range of its name.
void run_one_on_stream(const operation& op, cudaStream_t stream);

/// Launches the operations one by one, each step and call by `run`; waits for the device wherever a loop or a branch
/// must be decided. `flag_on_host` is pinned memory for the flag. A step that its loop's verdict holds back is launched
/// all the same, and finds out by itself.
void run_on_stream(const std::vector<operation>& operations, cudaStream_t stream, int* flag_on_host,
                   const operation_runner& run, const trip_listener& listener = {});

/// How a graph is made.
struct graph_means {
  const std::vector<cuda::stream>& body_streams;  ///< one for each level of depth, none of them capturing
  bool switch_nodes;                              ///< a select may be a SWITCH node; without, it is an IF node a body
};

/// Appends the operations to the capture in progress on `stream`: steps as kernel nodes, loops as WHILE nodes, branches
/// as IF nodes, bodies side by side as paths that meet again.
void capture_into(const lowered_program& lowered, cudaStream_t stream, const graph_means& means);

/// A kernel node of a step, and what its arguments are made of.
struct step_node {
  const recorded_step* step;
  cudaGraphNode_t node;
  launch_shape shape;
  step_frame frame;  ///< with its conditions
};

/// An instantiated graph, with the graph that it was made from: the nodes of that one name those of the instance.
struct made_graph {
  cuda::graph recorded;
  cuda::graph_exec exec;
  std::vector<step_node> steps;
  std::vector<cudaGraphNode_t> writers;  ///< of the parameters
  std::vector<word_write> written;       ///< what they write as of now

  /// The nodes of the step get the arguments that it has now, for the launches to come.
  void update(const recorded_step& step) const;
  /// The writers get these words, as many as they have now, for the launches to come.
  void set_words(const std::vector<word_write>& words);
};

/// The operations as a graph by itself, recorded on `stream`. Its first nodes write `words`, if there are any.
made_graph make_graph(const lowered_program& lowered, const std::vector<word_write>& words, cudaStream_t stream,
                      const graph_means& means);

#endif

}  // namespace whilst
