#include "kernels/launch/executors.hpp"

#if WHILST_WITH_CUDA

namespace whilst {
namespace {

int read_flag(const int* flag, cudaStream_t stream, int* flag_on_host) {
  WHILST_CUDA("reading a loop's flag",
              cudaMemcpyAsync(flag_on_host, flag, sizeof(int), cudaMemcpyDeviceToHost, stream));
  WHILST_CUDA("waiting for a loop's flag", cudaStreamSynchronize(stream));
  return *flag_on_host;
}

}  // namespace

void run_on_stream(const std::vector<operation>& operations, cudaStream_t stream, int* flag_on_host) {
  for (const operation& op : operations) {
    switch (op.what) {
      case operation::kind::step:
        op.step->launch(stream, op.shape, op.frame, op.overlaps);
        break;
      case operation::kind::call:
        op.node->call(stream);
        break;
      case operation::kind::loop:
        while (read_flag(&op.loop->running, stream, flag_on_host)) run_on_stream(op.body, stream, flag_on_host);
        break;
      case operation::kind::branch:
        if (read_flag(op.flag, stream, flag_on_host) && (!op.guard || read_flag(op.guard, stream, flag_on_host))) {
          run_on_stream(op.body, stream, flag_on_host);
        }
        break;
      case operation::kind::select: {
        const std::size_t chosen = op.choice(read_flag(op.flag, stream, flag_on_host));
        if (chosen < op.bodies.size() && (!op.guard || read_flag(op.guard, stream, flag_on_host)))
          run_on_stream(op.bodies[chosen], stream, flag_on_host);
        break;
      }
      case operation::kind::parallel:  // one after another: for the numbers it makes no difference
        for (const std::vector<operation>& body : op.bodies) run_on_stream(body, stream, flag_on_host);
        break;
    }
  }
}

}  // namespace whilst

#endif
