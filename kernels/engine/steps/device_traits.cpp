#include <array>
#include <memory>
#include <mutex>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/steps/step_frame.hpp"

#if WHILST_WITH_CUDA

namespace whilst {

const device_traits& traits_of_device(int device) {
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
    traits = std::move(made);
  }
  return *traits;
}

}  // namespace whilst

#endif
