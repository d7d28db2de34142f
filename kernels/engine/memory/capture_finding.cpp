#include "kernels/engine/memory/capture_finding.hpp"

#if WHILST_WITH_CUDA

namespace whilst {

std::optional<finding> capture_finding(cudaError_t status) {
  switch (status) {
    case cudaErrorStreamCaptureUnsupported:
      return finding{"synchronised with a stream or the device, or made another call that captures forbid",
                     "Take it out: steps and calls are in order by themselves"};
    case cudaErrorStreamCaptureInvalidated:
      return finding{"went on in a capture that an earlier error had broken",
                     "Look at the status of each CUDA call before"};
    case cudaErrorStreamCaptureMerge:
      return finding{"tied two captures together", "Use no event of another capture"};
    case cudaErrorStreamCaptureUnmatched:
      return finding{"ended a capture on a stream where none began", leave_capture_alone};
    case cudaErrorStreamCaptureUnjoined:
      return finding{"left another stream in the capture that its own stream does not wait for",
                     "Record an event on the other stream, and have the call's stream wait for it"};
    case cudaErrorStreamCaptureIsolation:
      return finding{"waited for work that is not part of the capture",
                     "Have the stream wait before the program is enqueued: a graph knows what was recorded with it"};
    case cudaErrorStreamCaptureImplicit:
      return finding{"used the legacy default stream, which would wait for a stream that is being captured",
                     "Use the stream that is given, in libraries too (cublasSetStream, cusparseSetStream)"};
    case cudaErrorCapturedEvent:
      return finding{"asked, or waited on the host, for an event that was recorded in the capture",
                     "Leave out cudaEventSynchronize and cudaEventQuery; cudaStreamWaitEvent orders streams"};
    case cudaErrorStreamCaptureWrongThread:
      return finding{"ended a capture on another thread than the one where it began",
                     "End it where it began, or begin it with cudaStreamCaptureModeRelaxed"};
    default:
      return std::nullopt;
  }
}

}  // namespace whilst

#endif
