#include "whilst/host/machine.hpp"

#include <fstream>
#include <map>
#include <mutex>

#include "whilst/basics/error.hpp"
#include "whilst/engine/executor.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/steps/host_threads.hpp"

namespace whilst {
namespace {

std::string ask_for_processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos && colon + 2 < line.size())
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

/// Version of the Linux kernel module, as nvidia-smi shows it; CUDA does not report it.
std::string driver_release() {
  std::string release;
  std::ifstream("/sys/module/nvidia/version") >> release;
  return release;
}

}  // namespace

std::string name_of_processor(place where) {
  // Reading /proc/cpuinfo takes up to 10 ms: some kernels measure each core's frequency for it.
  static std::mutex lock;
  static std::map<int, std::string> known;
  const int key = where.on_host() ? -1 : where.device();
  const std::lock_guard hold(lock);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
#if WHILST_WITH_CUDA
  return known.emplace(key, where.on_host() ? ask_for_processor() : cuda::device_name(where.device())).first->second;
#else
  return known.emplace(key, ask_for_processor()).first->second;
#endif
}

machine_description describe_machine([[maybe_unused]] int device) {
  machine_description found;
  found.processor = name_of_processor(place::host());
  found.threads = usual_host_threads();
  found.driver_release = driver_release();
  std::string no_device;
  found.device_count = cuda::device_count(&no_device);
  std::string no_kernels;
#if WHILST_WITH_CUDA
  found.cuda_build = true;
  found.toolkit_version = CUDART_VERSION;
  if (WHILST_CUDA_ATTEMPT(cudaDriverGetVersion(&found.driver_version)) != cudaSuccess) found.driver_version = 0;
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
    if (const auto code = cuda::kernels(device); !code.work) no_kernels = code.note;
    const auto answer = cuda::conditional_nodes(device);
    found.conditional_nodes = answer.work;
    if (!answer.work) found.conditional_nodes_note = answer.note;
  }
#endif
  const bool gpu = found.device_count > 0;
  if (!gpu) found.conditional_nodes_note = no_kernels = "no GPU: " + no_device;
  const auto executor = [](const char* name, const std::string& why_not) {
    return executor_availability{name, why_not.empty(), why_not};
  };
  // A batch runs on the host if there is no GPU, else on a GPU.
  found.executors = {executor("host", ""), executor("stream", no_kernels),
                     executor("graph", found.conditional_nodes_note), executor("resident", no_kernels),
                     executor("batch", gpu ? no_kernels : "")};
  return found;
}

}  // namespace whilst
