// compiled by nvcc where CUDA is on
#include "kernels/engine/steps/pause.hpp"

#include "whilst/basics/host_device.hpp"

#if WHILST_WITH_CUDA

namespace whilst {
namespace {

__global__ void pause_kernel(std::uint64_t nanoseconds) {
  const std::uint64_t began = now_nanoseconds();
  while (now_nanoseconds() - began < nanoseconds) {
  }
}

}  // namespace

void enqueue_pause(cudaStream_t stream, std::uint64_t nanoseconds) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  WHILST_CUDA("pausing a stream", cudaLaunchKernelEx(&config, pause_kernel, nanoseconds));
}

}  // namespace whilst

#endif
