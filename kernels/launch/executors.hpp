#pragma once

#include <vector>

#include "kernels/launch/cuda.hpp"
#include "kernels/launch/lowering.hpp"

namespace whilst {

/// Runs the operations on the calling thread (each step on OpenMP's threads); returns when they are done.
void run_on_host(const std::vector<operation>& operations);

#if WHILST_WITH_CUDA

/// Launches the operations one by one; waits for the device wherever a loop or a branch must be decided. `flag_on_host`
/// is pinned memory for the flag.
void run_on_stream(const std::vector<operation>& operations, cudaStream_t stream, int* flag_on_host);

/// Appends the operations to the capture in progress on `stream`: steps as kernel nodes, loops as WHILE nodes, branches
/// as IF nodes. body_streams: one stream for each level of depth, none of them capturing.
void capture_into(const lowered_program& lowered, cudaStream_t stream, const std::vector<cuda::stream>& body_streams);

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
                      const std::vector<cuda::stream>& body_streams);

#endif

}  // namespace whilst
