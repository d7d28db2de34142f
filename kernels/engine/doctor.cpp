#include "kernels/engine/doctor.hpp"

#if WHILST_WITH_CUDA

#include <algorithm>
#include <exception>
#include <utility>

#include "kernels/engine/executors.hpp"

namespace whilst {
namespace {

std::string name_of(cudaError_t status) {
  return std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")";
}

bool is_pageable(const void* address) {
  cudaPointerAttributes attributes{};
  return address && WHILST_CUDA_ATTEMPT(cudaPointerGetAttributes(&attributes, address)) == cudaSuccess &&
         attributes.type == cudaMemoryTypeUnregistered;
}

/// Describes the first node of a graph, or of a graph within it, that instantiation refuses in a conditional body. For
/// a message: a failing query is no error.
std::optional<finding> find_unfit(cudaGraph_t graph) {
  std::size_t count = 0;
  if (WHILST_CUDA_ATTEMPT(cudaGraphGetNodes(graph, nullptr, &count)) != cudaSuccess) return std::nullopt;
  std::vector<cudaGraphNode_t> nodes(count);
  if (count && WHILST_CUDA_ATTEMPT(cudaGraphGetNodes(graph, nodes.data(), &count)) != cudaSuccess) return std::nullopt;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeKernel;
    if (WHILST_CUDA_ATTEMPT(cudaGraphNodeGetType(node, &type)) != cudaSuccess) continue;
    switch (type) {
      case cudaGraphNodeTypeHost:
        return finding{"a host function",
                       "Let a kernel write to pinned memory and the host look there, or move the call out of the loop"};
      case cudaGraphNodeTypeMemAlloc:
        return finding{"an allocation",
                       "Take the memory before recording; give libraries a workspace (cublasSetWorkspace)"};
      case cudaGraphNodeTypeMemFree:
        return finding{"a deallocation", "Release the memory when the program is gone"};
      case cudaGraphNodeTypeEventRecord:
        return finding{"the record of an event",
                       "Record events around the program, not in it; cudaEventRecord without "
                       "cudaEventRecordExternal orders streams and makes no node"};
      case cudaGraphNodeTypeWaitEvent:
        return finding{"the wait for an event",
                       "Have the stream wait before the program is enqueued; cudaStreamWaitEvent "
                       "without cudaEventWaitExternal orders streams and makes no node"};
      case cudaGraphNodeTypeExtSemaphoreSignal:
      case cudaGraphNodeTypeExtSemaphoreWait:
        return finding{"an external semaphore", "Signal and wait on the stream around the program"};
      case cudaGraphNodeTypeMemcpy: {
        cudaMemcpy3DParms copy{};
        if (WHILST_CUDA_ATTEMPT(cudaGraphMemcpyNodeGetParams(node, &copy)) == cudaSuccess &&
            (is_pageable(copy.srcPtr.ptr) || is_pageable(copy.dstPtr.ptr)))
          return finding{"a copy of pageable memory",
                         "Take that host memory by cudaMallocHost, or pin it by "
                         "cudaHostRegister"};
        break;
      }
      case cudaGraphNodeTypeGraph: {
        cudaGraph_t child = nullptr;
        if (WHILST_CUDA_ATTEMPT(cudaGraphChildGraphNodeGetGraph(node, &child)) != cudaSuccess) break;
        if (auto unfit = find_unfit(child)) return unfit;
        break;
      }
      default:
        break;
    }
  }
  return std::nullopt;
}

/// A separate capture for one step or call. Ends with this object.
class trial {
 public:
  trial(const std::string& name, cudaStream_t stream) : stream_(stream) {
    WHILST_CUDA("trying to record '" + name + "'", cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  }
  ~trial() { cuda::abandon_capture(stream_, /*is_body=*/false); }
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;

  std::pair<cudaError_t, cuda::graph> end() {
    cudaGraph_t recorded = nullptr;
    const cudaError_t status = WHILST_CUDA_ATTEMPT(cudaStreamEndCapture(stream_, &recorded));
    return {status, cuda::graph(recorded)};
  }

 private:
  cudaStream_t stream_;
};

/// Throws whilst::error unless the call left its stream capturing and CUDA refused none of its work, which the graph
/// would then lack.
void require_capture_alive(const program_node& call, cudaStream_t stream) {
  const auto why = capture_finding(cudaPeekAtLastError());
  cudaStreamCaptureStatus status{};
  WHILST_CUDA("looking at the capture of call '" + call.name + "'", cudaStreamIsCapturing(stream, &status));
  if (status == cudaStreamCaptureStatusActive && !why) return;
  const cudaError_t last = cudaGetLastError();
  const std::string doing = "recording call '" + call.name + "'";
  if (why) throw error(doing, "it " + why->what + ": " + name_of(last), why->cure);
  if (status == cudaStreamCaptureStatusNone)
    throw error(doing, "it ended the capture of its stream", leave_capture_alone);
  throw error(doing, "it broke the capture of its stream",
              "A call may not synchronise, nor use a stream that was not made to follow its own by an event");
}

using call_list = std::vector<const program_node*>;

std::pair<cudaError_t, cuda::graph> capture_calls(const call_list& calls, cudaStream_t stream) {
  trial attempt(calls.front()->name, stream);
  for (const program_node* const call : calls) make_captured_call(*call, stream);
  return attempt.end();
}

/// The first call for which the condition holds when it is captured alone; the last if it takes several.
template <class Condition>
const program_node& first_of(const call_list& calls, cudaStream_t stream, const Condition& holds) {
  for (const program_node* const call : calls) {
    const auto [status, graph] = capture_calls({call}, stream);
    if (holds(status, graph.get())) return *call;
  }
  return *calls.back();
}

void rehearse(const std::vector<operation>& operations, cudaStream_t stream, bool in_body,
              std::optional<finding>& suspect) {
  call_list calls;
  for (const operation& op : operations)
    if (op.what == operation::kind::call && std::find(calls.begin(), calls.end(), op.node) == calls.end())
      calls.push_back(op.node);
  if (!calls.empty()) {
    const auto together = capture_calls(calls, stream);
    const cudaError_t status = together.first;
    if (const auto why = capture_finding(status)) {
      const auto same = [&](cudaError_t alone, cudaGraph_t) { return alone == status; };
      throw error("recording call '" + first_of(calls, stream, same).name + "'",
                  "it " + why->what + ": " + name_of(status), why->cure);
    }
    const cudaGraph_t graph = together.second.get();
    if (const auto unfit = in_body && !suspect && graph ? find_unfit(graph) : std::nullopt) {
      const auto same = [&](cudaError_t, cudaGraph_t alone) {
        const auto found = alone ? find_unfit(alone) : std::nullopt;
        return found && found->what == unfit->what;
      };
      suspect = finding{"call '" + first_of(calls, stream, same).name + "' put " + unfit->what +
                            " into the body of a loop or a branch",
                        unfit->cure};
    }
  }
  for (const operation& op : operations) {
    rehearse(op.body, stream, true, suspect);
    for (const std::vector<operation>& body : op.bodies)
      rehearse(body, stream, in_body || op.what == operation::kind::select, suspect);
  }
}

}  // namespace

std::optional<finding> rehearse_calls(const std::vector<operation>& operations, cudaStream_t stream) {
  std::optional<finding> suspect;
  rehearse(operations, stream, false, suspect);
  return suspect;
}

void make_captured_call(const program_node& call, cudaStream_t stream) {
  if (capture_finding(cudaPeekAtLastError())) cudaGetLastError();  // left by earlier code
  try {
    call.call(stream);
  } catch (const std::exception& thrown) {
    try {
      require_capture_alive(call, stream);
    } catch (const error& diagnosis) {
      throw error(std::string(diagnosis.what()) + ". It threw: " + thrown.what());
    }
    throw;
  }
  require_capture_alive(call, stream);
}

void fail_for(const std::optional<finding>& suspect, const std::string& doing, const char* expression,
              cudaError_t status) {
  cudaGetLastError();
  if (!suspect) cuda::fail(status, expression, doing);
  throw error(doing, suspect->what + ": " + name_of(status), suspect->cure);
}

void require_no_capture(cudaStream_t stream) {
  cudaStreamCaptureStatus capturing{};
  WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &capturing));
  if (capturing != cudaStreamCaptureStatusNone)
    throw error("running a program step by step", "its stream is being captured",
                "End the capture first, or give another stream");
}

cuda::graph_exec record_alone(const operation& op, cudaStream_t stream) {
  const std::string name = op.node ? op.node->name : "the library's own step";
  trial attempt(name, stream);
  if (op.what == operation::kind::call) {
    make_captured_call(*op.node, stream);
  } else {
    run_one_on_stream(op, stream);
  }
  const auto [status, graph] = attempt.end();
  if (status != cudaSuccess) {
    auto why = capture_finding(status);
    if (why) why->what = "it " + why->what;
    fail_for(why, "recording '" + name + "' by itself", "cudaStreamEndCapture", status);
  }
  cudaGraphExec_t made = nullptr;
  WHILST_CUDA("instantiating '" + name + "' by itself", cudaGraphInstantiate(&made, graph.get(), 0));
  return cuda::graph_exec(made);
}

}  // namespace whilst

#endif
