#include "kernels/engine/device_parts.hpp"
#include "kernels/engine/doctor.hpp"
#include "kernels/engine/executors.hpp"

#if WHILST_WITH_CUDA

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/engine/device_parts.hpp"

namespace whilst {
namespace {

/// Records a graph, or a conditional node's body, by capturing a stream. The capture ends with this object: a stream
/// left capturing would be unusable.
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
  ~recording() { cuda::abandon_capture(stream_, body_ != nullptr); }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  /// The graph; the caller owns it unless it is a body.
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

/// A copy of the nodes that the next one will depend on: several paths may meet.
struct dependencies {
  std::vector<cudaGraphNode_t> nodes;
  std::vector<cudaGraphEdgeData> edges;

  /// Adds none twice: a body that recorded nothing ends where it began.
  void add(const capture_front& front) {
    for (std::size_t k = 0; k < front.count; ++k) {
      if (std::find(nodes.begin(), nodes.end(), front.dependencies[k]) != nodes.end()) continue;
      nodes.push_back(front.dependencies[k]);
      edges.push_back(front.edges ? front.edges[k] : cudaGraphEdgeData{});
    }
  }
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

/// Continues the capture from these nodes.
void go_on_after(cudaStream_t stream, dependencies& from) {
#if CUDART_VERSION >= 13000
  WHILST_CUDA("leading a capture on",
              cudaStreamUpdateCaptureDependencies(stream, from.nodes.data(), from.edges.data(), from.nodes.size(),
                                                  cudaStreamSetCaptureDependencies));
#else
  WHILST_CUDA("leading a capture on",
              cudaStreamUpdateCaptureDependencies_v2(stream, from.nodes.data(), from.edges.data(), from.nodes.size(),
                                                     cudaStreamSetCaptureDependencies));
#endif
}

/// The node that the capturing stream recorded last.
cudaGraphNode_t last_node(cudaStream_t stream) {
  const capture_front front = front_of(stream);
  if (front.count != 1)
    throw error("recording a program", "its stream follows " + std::to_string(front.count) + " nodes, not one",
                "It is a fault of the library: please report it");
  return front.dependencies[0];
}

cudaGraphNode_t add_conditional(cudaStream_t stream, cudaGraphNodeParams& params) {
  const capture_front front = front_of(stream);
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  WHILST_CUDA("adding a conditional node",
              cudaGraphAddNode(&node, front.graph, front.dependencies, front.edges, front.count, &params));
#else
  WHILST_CUDA("adding a conditional node",
              cudaGraphAddNode_v2(&node, front.graph, front.dependencies, front.edges, front.count, &params));
#endif
  dependencies after{{node}, {cudaGraphEdgeData{}}};
  go_on_after(stream, after);
  return node;
}

class graph_capture {
 public:
  /// step_nodes: collects the nodes of steps; may be null.
  graph_capture(int conditions, const graph_means& means, std::vector<step_node>* step_nodes = nullptr)
      : handles_(static_cast<std::size_t>(conditions) + 1), means_(means), step_nodes_(step_nodes) {}

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
        case operation::kind::select:
          add_select(op, stream, depth);
          break;
        case operation::kind::parallel:
          add_parallel(op, stream, depth);
          break;
      }
    }
  }

 private:
  /// A handle belongs to the graph that will contain its node. Each launch of the outermost graph resets it to 0; a
  /// step sets it before execution reaches the node.
  void make_handles(const std::vector<operation>& operations, cudaStream_t stream) {
    for (const operation& op : operations) {
      if (!op.condition) continue;
      const cudaGraph_t graph = front_of(stream).graph;
      const std::size_t several = op.what == operation::kind::select && !means_.switch_nodes ? op.bodies.size() : 1;
      for (std::size_t k = 0; k < several; ++k) {
        cudaGraphConditionalHandle handle{};
        WHILST_CUDA("making the condition of '" + op.node->name + "'",
                    cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
        handles_[static_cast<std::size_t>(op.condition) + k] = handle;
      }
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

  void add_body(const operation& op, cudaStream_t stream, std::size_t depth, cudaGraphConditionalNodeType type) {
    const cudaGraph_t* const graph = add_node(handles_[static_cast<std::size_t>(op.condition)], stream, type, 1);
    record_body(op, op.body, *graph, depth);
  }

  void add_select(const operation& op, cudaStream_t stream, std::size_t depth) {
    selection what{.flag = op.flag,
                   .guard = op.guard,
                   .has_else = op.node->has_else,
                   .bodies = static_cast<int>(op.bodies.size()),
                   .one_node = means_.switch_nodes,
                   .conditions = {}};
    const std::size_t first = static_cast<std::size_t>(op.condition);
    for (std::size_t k = 0; k < op.bodies.size(); ++k) what.conditions[k] = handles_[first + k];
    launch_selection(stream, what);
#if CUDART_VERSION >= 12080
    if (means_.switch_nodes) {
      const auto count = static_cast<unsigned>(op.bodies.size());
      const cudaGraph_t* const graphs = add_node(handles_[first], stream, cudaGraphCondTypeSwitch, count);
      for (std::size_t k = 0; k < op.bodies.size(); ++k) record_body(op, op.bodies[k], graphs[k], depth);
      return;
    }
#endif
    for (std::size_t k = 0; k < op.bodies.size(); ++k)
      record_body(op, op.bodies[k], *add_node(handles_[first + k], stream, cudaGraphCondTypeIf, 1), depth);
  }

  /// Each body begins at the capture's current front; the capture continues where all have ended.
  void add_parallel(const operation& op, cudaStream_t stream, std::size_t depth) {
    dependencies before, ends;
    before.add(front_of(stream));
    for (const std::vector<operation>& body : op.bodies) {
      go_on_after(stream, before);
      add(body, stream, depth);
      ends.add(front_of(stream));
    }
    go_on_after(stream, ends);
  }

  /// Adds a conditional node; returns the graphs of its bodies, which belong to it.
  static const cudaGraph_t* add_node(graph_condition handle, cudaStream_t stream, cudaGraphConditionalNodeType type,
                                     unsigned bodies) {
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = bodies;
    add_conditional(stream, params);
    return params.conditional.phGraph_out;
  }

  void record_body(const operation& op, const std::vector<operation>& operations, cudaGraph_t graph,
                   std::size_t depth) {
    cudaStream_t inner = means_.body_streams.at(depth).get();
    recording body("the body of '" + op.node->name + "'", inner, graph);
    add(operations, inner, depth + 1);
    body.end();
  }

  std::vector<graph_condition> handles_;
  const graph_means& means_;
  std::vector<step_node>* step_nodes_;
};

}  // namespace

void capture_into(const lowered_program& lowered, cudaStream_t stream, const graph_means& means) {
  graph_capture(lowered.conditions, means).add(lowered.operations, stream, 0);
}

made_graph make_graph(const lowered_program& lowered, const std::vector<word_write>& words, cudaStream_t stream,
                      const graph_means& means) {
  const std::optional<finding> suspect = rehearse_calls(lowered.operations, stream);
  made_graph result;
  recording program("a program", stream);
  write_words(stream, words, [&] { result.writers.push_back(last_node(stream)); });
  result.written = words;
  graph_capture(lowered.conditions, means, &result.steps).add(lowered.operations, stream, 0);
  const auto life = cuda::context_life::current();
  result.recorded = cuda::graph(program.end(), {life});
  cudaGraphExec_t made = nullptr;
  const cudaError_t status = WHILST_CUDA_ATTEMPT(cudaGraphInstantiate(&made, result.recorded.get(), 0));
  if (status == cudaErrorMemoryAllocation)
    cuda::fail(status, "cudaGraphInstantiate", "instantiating a program's graph");
  if (status != cudaSuccess)
    fail_for(
        suspect,
        "instantiating a program's graph (a loop's or branch's body may hold no host function, allocation, event or "
        "pageable copy)",
        "cudaGraphInstantiate", status);
  result.exec = cuda::graph_exec(made, {life});
  return result;
}

void made_graph::update(const recorded_step& step) const {
  for (const step_node& at : steps)
    if (at.step == &step) step.set_node(exec.get(), at.node, at.shape, at.frame);
}

void made_graph::set_words(const std::vector<word_write>& words) {
  try {
    update_words(exec.get(), writers, written, words);
  } catch (...) {
    written.clear();  // some writers may already have the new words
    throw;
  }
  written = words;
}

}  // namespace whilst

#endif
