#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/steps/step_frame.hpp"

#if WHILST_WITH_CUDA

namespace whilst {

/// CUDA would do so itself at the first launch of such a kernel, which then waits for all that the device still has to
/// do: forever, if that waits for the host to go on. Never less than before.
static void set_aside_local_memory(std::size_t bytes_of_thread, const std::string& step) {
  if (bytes_of_thread == 0) return;  // as most kernels: there is nothing to ask about
  const std::string what = "setting aside local memory for step '" + step + "'";
  std::size_t now = 0;
  WHILST_CUDA(what, cudaDeviceGetLimit(&now, cudaLimitStackSize));
  if (bytes_of_thread > now) WHILST_CUDA(what, cudaDeviceSetLimit(cudaLimitStackSize, bytes_of_thread));
}

cudaFuncAttributes kernel_table::attributes(const void* kernel, const std::string& step) {
  const std::lock_guard hold(lock_);
  facts& of = known_[kernel];
  if (!of.has_attributes) {
    WHILST_CUDA("asking for the limits of step '" + step + "'", cudaFuncGetAttributes(&of.attributes, kernel));
    of.has_attributes = true;
  }
  set_aside_local_memory(of.attributes.localSizeBytes, step);  // each time: the limit may have been lowered
  return of.attributes;
}

int kernel_table::resident_blocks(const void* kernel, int threads, const std::string& step) {
  const std::lock_guard hold(lock_);
  facts& of = known_[kernel];
  const auto found = of.resident_blocks.find(threads);
  if (found != of.resident_blocks.end()) return found->second;
  int blocks = 1;
  WHILST_CUDA("asking how many blocks of step '" + step + "' fit a multiprocessor",
              cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
  return of.resident_blocks[threads] = blocks;
}

int kernel_table::cluster_blocks(const void* kernel, int threads, const std::string& step) {
  const std::lock_guard hold(lock_);
  facts& of = known_[kernel];
  const auto found = of.cluster_blocks.find(threads);
  if (found != of.cluster_blocks.end()) return found->second;
  const std::string what = "asking for the clusters of step '" + step + "'";
  allow_large_clusters(kernel, step);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(largest_cluster);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  int blocks = 0;
  WHILST_CUDA(what, cudaOccupancyMaxPotentialClusterSize(&blocks, kernel, &config));
  return of.cluster_blocks[threads] = blocks;
}

void kernel_table::allow_large_clusters(const void* kernel, const std::string& step) {
  WHILST_CUDA("allowing large clusters of step '" + step + "'",
              cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

void kernel_table::allow_fast_memory(const void* kernel, int bytes, const std::string& step) {
  const std::lock_guard hold(lock_);
  facts& of = known_[kernel];
  if (bytes <= of.fast_memory) return;
  WHILST_CUDA("raising the shared memory limit of step '" + step + "'",
              cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  of.fast_memory = bytes;
}

device_traits traits_of_device(int device) {
  static std::mutex lock;
  static std::array<std::unique_ptr<device_traits>, 64> known;
  const std::lock_guard hold(lock);
  auto& traits = known.at(static_cast<std::size_t>(device));
  if (!traits) {
    auto made = std::make_unique<device_traits>();
    int major = 0, minor = 0, shared_bytes = 0;
    const auto ask = [&](int& value, cudaDeviceAttr attribute) {
      WHILST_CUDA("asking for a device's limits", cudaDeviceGetAttribute(&value, attribute, device));
    };
    ask(made->multiprocessors, cudaDevAttrMultiProcessorCount);
    ask(major, cudaDevAttrComputeCapabilityMajor);
    ask(minor, cudaDevAttrComputeCapabilityMinor);
    ask(shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    made->device = device;
    made->compute_capability = 10 * major + minor;
    made->fast_memory_bytes = static_cast<std::size_t>(shared_bytes);
    made->kernels = nullptr;
    traits = std::move(made);
  }
  device_traits copy = *traits;
  copy.kernels = std::make_shared<kernel_table>();
  return copy;
}

device_traits traits_of_current(int device) {
  struct table_of_life {
    cuda::context_life life;
    std::shared_ptr<kernel_table> kernels;
  };
  static std::mutex lock;
  static auto& known = *new std::vector<table_of_life>;  // solvers with static lifetime may need it
  device_traits traits = traits_of_device(device);
  const auto life = cuda::context_life::current();
  if (life == cuda::context_life()) return traits;  // whether it has ended could not be told
  const std::lock_guard hold(lock);
  for (const table_of_life& one : known) {
    if (one.life != life) continue;
    traits.kernels = one.kernels;
    return traits;
  }
  std::erase_if(known, [](const table_of_life& one) { return one.life.ended(); });
  known.push_back({life, traits.kernels});
  return traits;
}

}  // namespace whilst

#endif
