#include "kernels/launch/executors.hpp"

#if WHILST_WITH_CUDA

#include <string>
#include <utility>
#include <vector>

#include "kernels/launch/device_parts.hpp"

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

/// The node that the capturing stream recorded last.
cudaGraphNode_t last_node(cudaStream_t stream) {
  const capture_front front = front_of(stream);
  if (front.count != 1)
    throw error("recording a program", "its stream follows " + std::to_string(front.count) + " nodes, not one",
                "It is a fault of the library: please report it");
  return front.dependencies[0];
}

bool is_pageable(const void* address) {
  cudaPointerAttributes attributes{};
  return address && WHILST_CUDA_ATTEMPT(cudaPointerGetAttributes(&attributes, address)) == cudaSuccess &&
         attributes.type == cudaMemoryTypeUnregistered;
}

/// What the first node of a graph, or of a graph within it, is that instantiating refuses in the body of a conditional
/// node; null where none is found. For a message: it is no error if a question fails.
const char* unfit_for_bodies(cudaGraph_t graph) {
  std::size_t count = 0;
  if (WHILST_CUDA_ATTEMPT(cudaGraphGetNodes(graph, nullptr, &count)) != cudaSuccess) return nullptr;
  std::vector<cudaGraphNode_t> nodes(count);
  if (count && WHILST_CUDA_ATTEMPT(cudaGraphGetNodes(graph, nodes.data(), &count)) != cudaSuccess) return nullptr;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeKernel;
    if (WHILST_CUDA_ATTEMPT(cudaGraphNodeGetType(node, &type)) != cudaSuccess) continue;
    switch (type) {
      case cudaGraphNodeTypeHost:
        return "a host function";
      case cudaGraphNodeTypeMemAlloc:
        return "an allocation";
      case cudaGraphNodeTypeMemFree:
        return "a deallocation";
      case cudaGraphNodeTypeEventRecord:
        return "the record of an event";
      case cudaGraphNodeTypeWaitEvent:
        return "the wait for an event";
      case cudaGraphNodeTypeExtSemaphoreSignal:
      case cudaGraphNodeTypeExtSemaphoreWait:
        return "an external semaphore";
      case cudaGraphNodeTypeMemcpy: {
        cudaMemcpy3DParms copy{};
        if (WHILST_CUDA_ATTEMPT(cudaGraphMemcpyNodeGetParams(node, &copy)) == cudaSuccess &&
            (is_pageable(copy.srcPtr.ptr) || is_pageable(copy.dstPtr.ptr)))
          return "a copy of pageable memory";
        break;
      }
      case cudaGraphNodeTypeGraph: {
        cudaGraph_t child = nullptr;
        if (WHILST_CUDA_ATTEMPT(cudaGraphChildGraphNodeGetGraph(node, &child)) != cudaSuccess) break;
        if (const char* const unfit = unfit_for_bodies(child)) return unfit;
        break;
      }
      default:
        break;
    }
  }
  return nullptr;
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
  /// step_nodes: where to note the nodes of steps; null for nowhere.
  graph_capture(int conditions, const std::vector<cuda::stream>& body_streams,
                std::vector<step_node>* step_nodes = nullptr)
      : handles_(static_cast<std::size_t>(conditions) + 1), body_streams_(body_streams), step_nodes_(step_nodes) {}

  void add(const std::vector<operation>& operations, cudaStream_t stream, std::size_t depth) {
    make_handles(operations, stream);
    for (const operation& op : operations) {
      switch (op.what) {
        case operation::kind::step:
          add_step(op, stream);
          break;
        case operation::kind::call:
          add_call(op, stream, depth);
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

  /// The first call found to have put into a body what may not be there, and what that is; empty if there is none.
  const std::string& unfit() const { return unfit_; }

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
    if (step_nodes_) step_nodes_->push_back({op.step, last_node(stream), op.shape, frame});
  }

  void add_call(const operation& op, cudaStream_t stream, std::size_t depth) {
    op.node->call(stream);
    cudaStreamCaptureStatus status{};
    WHILST_CUDA("looking at a capture in progress", cudaStreamIsCapturing(stream, &status));
    if (status != cudaStreamCaptureStatusActive)
      throw error("recording call '" + op.node->name + "'", "it ended or broke the capture of its stream",
                  "A call may not synchronise, nor use a stream that was not made to follow its own by an event");
    if (depth == 0 || !unfit_.empty()) return;
    // Not an error before the driver says that it is one: a later driver may take more.
    if (const char* const what = unfit_for_bodies(front_of(stream).graph))
      unfit_ = "call '" + op.node->name + "' put " + what + " there";
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
  std::vector<step_node>* step_nodes_;
  std::string unfit_;
};

}  // namespace

void capture_into(const lowered_program& lowered, cudaStream_t stream, const std::vector<cuda::stream>& body_streams) {
  graph_capture(lowered.conditions, body_streams).add(lowered.operations, stream, 0);
}

made_graph make_graph(const lowered_program& lowered, const std::vector<word_write>& words, cudaStream_t stream,
                      const std::vector<cuda::stream>& body_streams) {
  made_graph result;
  recording program("a program", stream);
  write_words(stream, words, [&] { result.writers.push_back(last_node(stream)); });
  result.written = words;
  graph_capture capture(lowered.conditions, body_streams, &result.steps);
  capture.add(lowered.operations, stream, 0);
  result.recorded.reset(program.end());
  const std::string doing =
      "instantiating the graph (a loop's or branch's body may hold no host function, allocation, event or pageable "
      "copy" +
      (capture.unfit().empty() ? std::string() : ", and " + capture.unfit()) + ")";
  cudaGraphExec_t made = nullptr;
  WHILST_CUDA(doing, cudaGraphInstantiate(&made, result.recorded.get(), 0));
  result.exec.reset(made);
  return result;
}

void made_graph::update(const recorded_step& step) const {
  for (const step_node& at : steps)
    if (at.step == &step) step.set_node(exec.get(), at.node, at.shape, at.frame);
}

void made_graph::set_words(const std::vector<word_write>& words) {
  update_words(exec.get(), writers, written, words);
  written = words;
}

}  // namespace whilst

#endif
