#include "whilst/engine/steps/step.hpp"

#if WHILST_WITH_CUDA

namespace whilst {

bool recorded_step::waits_for_previous(const device_traits& device, const launch_shape& shape) const {
  if (device.compute_capability < 90) return false;
  bool waits = false;
  with_kernel(shape, {},
              [&](const void* kernel, void**) { waits = device.kernels->attributes(kernel, name()).ptxVersion >= 90; });
  return waits;
}

void recorded_step::load(const device_traits& device, const launch_shape& shape) const {
  const auto load = [&](const launch_shape& of) {
    with_kernel(of, {}, [&](const void* kernel, void**) { device.kernels->attributes(kernel, name()); });
  };
  load(shape);
  if (shape.form != step_form::sums) return;
  launch_shape rest = shape;  // which its sums are followed by
  rest.form = step_form::finish_sequel;
  load(rest);
}

void recorded_step::launch(cudaStream_t stream, const launch_shape& shape, const step_frame& frame,
                           bool overlap) const {
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (overlap) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = shape.cluster;
    attributes[count].val.clusterDim.y = 1;
    attributes[count++].val.clusterDim.z = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.fast_memory_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  with_kernel(shape, frame, [&](const void* kernel, void** arguments) {
    WHILST_CUDA("launching step '" + name() + "'", cudaLaunchKernelExC(&config, kernel, arguments));
  });
}

void recorded_step::set_node(cudaGraphExec_t exec, cudaGraphNode_t node, const launch_shape& shape,
                             const step_frame& frame) const {
  cudaKernelNodeParams params{};
  params.gridDim = dim3(shape.blocks);
  params.blockDim = dim3(shape.threads);
  params.sharedMemBytes = static_cast<unsigned>(shape.fast_memory_bytes);
  with_kernel(shape, frame, [&](const void* kernel, void** arguments) {
    params.func = const_cast<void*>(kernel);
    params.kernelParams = arguments;
    WHILST_CUDA("updating step '" + name() + "'", cudaGraphExecKernelNodeSetParams(exec, node, &params));
  });
}

}  // namespace whilst

#endif
