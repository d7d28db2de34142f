#include "kernels/launch/doctor.hpp"
#include "kernels/launch/executors.hpp"

#if WHILST_WITH_CUDA

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace whilst {
namespace {

/// The record of a graph, or of a conditional node's body, by capturing a stream. The capture ends when this does: a
/// stream that went on capturing could not be used again.
class recording {
 public:
  recording(std::string what, cudaStream_t stream, cudaGraph_t body = nullptr)
      : what_(std::move(what)), stream_(stream), body_(body) {
    const std::string doing = "starting to record " + what_;
    if (body) {
      WHILST_CUDA(doing,
                  cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
    } else {
      WHILST_CUDA(doing, cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    }
  }
  ~recording() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream_, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone) {
      cudaGraph_t abandoned = nullptr;
      cudaStreamEndCapture(stream_, &abandoned);
      if (!body_) cuda::graph{abandoned};
    }
    cudaGetLastError();  // what went wrong is on its way already
  }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  /// The graph, which is the caller's unless it is a body.
  cudaGraph_t end() {
    cudaGraph_t recorded = nullptr;
    WHILST_CUDA("ending the record of " + what_, cudaStreamEndCapture(stream_, &recorded));
    return recorded;
  }

 private:
  std::string what_;
  cudaStream_t stream_;
  cudaGraph_t body_;
};

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
    throw error("recording a program into a stream's capture", "the stream is not capturing any more",
                "Look for what ended or broke the capture: an error in another stream that takes part in it, perhaps");
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
          make_captured_call(*op.node, stream);
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
    recording body("the body of '" + op.node->name + "'", inner, params.conditional.phGraph_out[0]);
    add(op.body, inner, depth + 1);
    body.end();
  }

  std::vector<graph_condition> handles_;
  const std::vector<cuda::stream>& body_streams_;
};

}  // namespace

void capture_into(const lowered_program& lowered, cudaStream_t stream, const std::vector<cuda::stream>& body_streams) {
  graph_capture(lowered.conditions, body_streams).add(lowered.operations, stream, 0);
}

cuda::graph_exec make_graph(const lowered_program& lowered, cudaStream_t stream,
                            const std::vector<cuda::stream>& body_streams) {
  const std::optional<finding> suspect = rehearse_calls(lowered.operations, stream);
  recording program("a program", stream);
  graph_capture(lowered.conditions, body_streams).add(lowered.operations, stream, 0);
  const cuda::graph graph(program.end());
  cudaGraphExec_t made = nullptr;
  const cudaError_t status = WHILST_CUDA_ATTEMPT(cudaGraphInstantiate(&made, graph.get(), 0));
  if (status == cudaErrorMemoryAllocation)
    cuda::fail(status, "cudaGraphInstantiate", "instantiating a program's graph");
  if (status != cudaSuccess)
    fail_for(
        suspect,
        "instantiating a program's graph (a loop's or branch's body may hold no host function, allocation, event or "
        "pageable copy)",
        "cudaGraphInstantiate", status);
  return cuda::graph_exec(made);
}

}  // namespace whilst

#endif
