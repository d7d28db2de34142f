#include "whilst/machine.hpp"

#include <fstream>
#include <thread>

#include "kernels/launch/cuda.hpp"
#include "whilst/error.hpp"
#include "whilst/executor.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace whilst {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos && colon + 2 < line.size())
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

machine_description describe_machine([[maybe_unused]] int device) {
  machine_description found;
  found.processor = processor_name();
#if defined(_OPENMP)
  found.threads = omp_get_max_threads();
#endif
  std::string no_device;
  found.device_count = cuda::device_count(&no_device);
#if WHILST_WITH_CUDA
  found.cuda_build = true;
  found.toolkit_version = CUDART_VERSION;
  if (cudaDriverGetVersion(&found.driver_version) != cudaSuccess) found.driver_version = 0;
  if (device >= 0 && device >= found.device_count && found.device_count > 0)
    throw error("describing GPU " + std::to_string(device), "this machine has " + std::to_string(found.device_count),
                "Count from 0");
  if (found.device_count > 0) {
    if (device < 0) WHILST_CUDA("asking for the current device", cudaGetDevice(&device));
    cudaDeviceProp properties{};
    WHILST_CUDA("asking for a device's properties", cudaGetDeviceProperties(&properties, device));
    found.device = properties.name;
    found.compute_major = properties.major;
    found.compute_minor = properties.minor;
    const auto answer = cuda::conditional_nodes(device);
    found.conditional_nodes = answer.work;
    if (!answer.work) found.conditional_nodes_note = answer.note;
  }
#endif
  const bool gpu = found.device_count > 0;
  const std::string no_gpu = gpu ? "" : "no GPU: " + no_device;
  if (!gpu) found.conditional_nodes_note = no_gpu;
  found.executors = {{"host", true, ""},
                     {"stream", gpu, no_gpu},
                     {"graph", found.conditional_nodes, found.conditional_nodes ? "" : found.conditional_nodes_note},
                     {"resident", gpu, no_gpu},
                     {"batch", true, ""}};
  return found;
}

}  // namespace whilst
