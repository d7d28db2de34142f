#include "kernels/launch/executors.hpp"

#if WHILST_WITH_CUDA

#include <string>

namespace whilst {
namespace {

/// The graph that a capturing stream records into, and the nodes that the next one will depend on.
struct capture_front {
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
};

capture_front front_of(cudaStream_t stream) {
  capture_front front;
  cudaStreamCaptureStatus status{};
#if CUDART_VERSION >= 13000
  WHILST_CUDA("looking at a capture in progress",
              cudaStreamGetCaptureInfo(stream, &status, nullptr, &front.graph, &front.dependencies, &front.edges,
                                       &front.count));
#else
  WHILST_CUDA("looking at a capture in progress",
              cudaStreamGetCaptureInfo_v3(stream, &status, nullptr, &front.graph, &front.dependencies, &front.edges,
                                          &front.count));
#endif
  if (status != cudaStreamCaptureStatusActive)
    throw error("recording a loop into a stream's capture", "the stream is not capturing any more",
                "something that the body calls ended or broke the capture");
  return front;
}

cudaGraphNode_t add_conditional(cudaStream_t stream, cudaGraphNodeParams& params) {
  const capture_front front = front_of(stream);
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  WHILST_CUDA("adding a conditional node",
              cudaGraphAddNode(&node, front.graph, front.dependencies, front.edges, front.count, &params));
  WHILST_CUDA("continuing the capture after a conditional node",
              cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
#else
  WHILST_CUDA("adding a conditional node",
              cudaGraphAddNode_v2(&node, front.graph, front.dependencies, front.edges, front.count, &params));
  WHILST_CUDA("continuing the capture after a conditional node",
              cudaStreamUpdateCaptureDependencies_v2(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
#endif
  return node;
}

class graph_capture {
 public:
  graph_capture(int conditions, const std::vector<cuda::stream>& body_streams)
      : handles_(static_cast<std::size_t>(conditions) + 1), body_streams_(body_streams) {}

  void add(const std::vector<operation>& operations, cudaStream_t stream, std::size_t depth) {
    make_handles(operations, stream);
    for (const operation& op : operations) {
      switch (op.what) {
        case operation::kind::step:
          add_step(op, stream);
          break;
        case operation::kind::call:
          op.node->call(stream);
          break;
        case operation::kind::loop:
          add_body(op, stream, depth, cudaGraphCondTypeWhile);
          break;
        case operation::kind::branch:
          add_body(op, stream, depth, cudaGraphCondTypeIf);
          break;
      }
    }
  }

 private:
  /// A handle belongs to the graph that its node will be in. Each launch of the outermost graph sets it to 0; a step
  /// sets it before its node is reached.
  void make_handles(const std::vector<operation>& operations, cudaStream_t stream) {
    for (const operation& op : operations) {
      if (!op.condition) continue;
      cudaGraphConditionalHandle handle{};
      const cudaGraph_t graph = front_of(stream).graph;
      WHILST_CUDA("making the condition of '" + op.node->name + "'",
                  cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
      handles_[static_cast<std::size_t>(op.condition)] = handle;
    }
  }

  void add_step(const operation& op, cudaStream_t stream) {
    step_frame frame = op.frame;
    frame.links.loop_condition = handles_[static_cast<std::size_t>(op.loop_condition)];
    frame.links.opens_condition = handles_[static_cast<std::size_t>(op.opens_condition)];
    frame.links.branch_condition = handles_[static_cast<std::size_t>(op.branch_condition)];
    op.step->launch(stream, op.shape, frame, op.overlaps);
  }

  void add_body(const operation& op, cudaStream_t stream, std::size_t depth, cudaGraphConditionalNodeType type) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handles_[static_cast<std::size_t>(op.condition)];
    params.conditional.type = type;
    params.conditional.size = 1;
    add_conditional(stream, params);
    cudaStream_t inner = body_streams_.at(depth).get();
    WHILST_CUDA("starting to record the body of '" + op.node->name + "'",
                cudaStreamBeginCaptureToGraph(inner, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                              cudaStreamCaptureModeRelaxed));
    try {
      add(op.body, inner, depth + 1);
    } catch (...) {
      cudaGraph_t abandoned = nullptr;
      cudaStreamEndCapture(inner, &abandoned);
      cudaGetLastError();  // what went wrong is on its way already
      throw;
    }
    cudaGraph_t body = nullptr;
    WHILST_CUDA("ending the record of the body of '" + op.node->name + "'", cudaStreamEndCapture(inner, &body));
  }

  std::vector<graph_condition> handles_;
  const std::vector<cuda::stream>& body_streams_;
};

}  // namespace

void capture_into(const lowered_program& lowered, cudaStream_t stream, const std::vector<cuda::stream>& body_streams) {
  graph_capture(lowered.conditions, body_streams).add(lowered.operations, stream, 0);
}

cuda::graph_exec instantiate(cudaGraph_t graph) {
  cudaGraphExec_t made = nullptr;
  WHILST_CUDA("instantiating the graph (a loop's body may hold no host function, allocation, event or pageable copy)",
              cudaGraphInstantiate(&made, graph, 0));
  return cuda::graph_exec(made);
}

}  // namespace whilst

#endif
