#include "whilst/host/machine.hpp"

#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>

#include "solvers/exchange/windows/transport.hpp"
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

#if WHILST_WITH_CUDA
std::string text_of(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t k = 0; k < sizeof uuid.bytes; ++k) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[k]));
    text.append(k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "").append(digits);
  }
  return text;
}
#endif

/// For each GPU the others whose memory it can reach.
std::vector<std::vector<int>> peers_of_gpus([[maybe_unused]] int count) {
  std::vector<std::vector<int>> peers;
#if WHILST_WITH_CUDA
  for (int from = 0; from < count; ++from) {
    std::vector<int>& reached = peers.emplace_back();
    for (int to = 0; to < count; ++to) {
      int can = 0;
      if (to != from) WHILST_CUDA("asking whether a GPU reaches another", cudaDeviceCanAccessPeer(&can, from, to));
      if (can != 0) reached.push_back(to);
    }
  }
#endif
  return peers;
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
    found.device_uuid = text_of(properties.uuid);
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
  found.peers = peers_of_gpus(found.device_count);
  for (const windows::transport_kind* const kind : windows::transport_kinds())
    found.transports.push_back(executor(kind->name, kind->why_not_here(found.peers)));
  return found;
}

}  // namespace whilst
