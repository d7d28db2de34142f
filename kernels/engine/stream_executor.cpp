#include "kernels/engine/executors.hpp"

#if WHILST_WITH_CUDA

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define WHILST_WITH_NVTX 1
#endif

#include "kernels/engine/program_view.hpp"

namespace whilst {
namespace {

/// A range with a step's name on profilers' timelines; costs next to nothing if none is attached.
class named_range {
 public:
  explicit named_range([[maybe_unused]] const operation& op) {
#if WHILST_WITH_NVTX
    nvtxRangePushA(op.runs_sequel || !op.node ? title(op).c_str() : op.node->name.c_str());
#endif
  }
  ~named_range() {
#if WHILST_WITH_NVTX
    nvtxRangePop();
#endif
  }
  named_range(const named_range&) = delete;
  named_range& operator=(const named_range&) = delete;
};

int read_flag(const int* flag, cudaStream_t stream, int* flag_on_host) {
  WHILST_CUDA("reading a loop's flag",
              cudaMemcpyAsync(flag_on_host, flag, sizeof(int), cudaMemcpyDeviceToHost, stream));
  WHILST_CUDA("waiting for a loop's flag", cudaStreamSynchronize(stream));
  return *flag_on_host;
}

loop_state read_state(const control* loop, cudaStream_t stream) {
  loop_state state;
  WHILST_CUDA("reading a loop's state", cudaMemcpyAsync(&state, static_cast<const loop_state*>(loop), sizeof state,
                                                        cudaMemcpyDeviceToHost, stream));
  WHILST_CUDA("waiting for a loop's state", cudaStreamSynchronize(stream));
  return state;
}

}  // namespace

void run_one_on_stream(const operation& op, cudaStream_t stream) {
  const named_range range(op);
  if (op.what == operation::kind::call) {
    op.node->call(stream);
  } else {
    op.step->launch(stream, op.shape, op.frame, op.overlaps);
  }
}

void run_on_stream(const std::vector<operation>& operations, cudaStream_t stream, int* flag_on_host,
                   const operation_runner& run, const trip_listener& listener) {
  for (const operation& op : operations) {
    switch (op.what) {
      case operation::kind::step:
      case operation::kind::call:
        run(op);
        break;
      case operation::kind::loop:
        while (read_flag(&op.loop->running, stream, flag_on_host)) {
          run_on_stream(op.body, stream, flag_on_host, run, listener);
          if (op.loop == listener.loop) listener.tell(read_state(op.loop, stream));
        }
        break;
      case operation::kind::branch:
        if (read_flag(op.flag, stream, flag_on_host) && (!op.guard || read_flag(op.guard, stream, flag_on_host))) {
          run_on_stream(op.body, stream, flag_on_host, run, listener);
        }
        break;
      case operation::kind::select: {
        const std::size_t chosen = op.choice(read_flag(op.flag, stream, flag_on_host));
        if (chosen < op.bodies.size() && (!op.guard || read_flag(op.guard, stream, flag_on_host)))
          run_on_stream(op.bodies[chosen], stream, flag_on_host, run, listener);
        break;
      }
      case operation::kind::parallel:  // one after another: the results are the same
        for (const std::vector<operation>& body : op.bodies) run_on_stream(body, stream, flag_on_host, run, listener);
        break;
    }
  }
}

}  // namespace whilst

#endif
