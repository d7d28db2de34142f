#include "kernels/launch/context_life.hpp"

#include <array>
#include <cstdlib>
#include <mutex>
#include <string>

#include "kernels/launch/cuda.hpp"

namespace whilst::cuda {

#if WHILST_WITH_CUDA

namespace {

/// Host memory of our own that is registered with a device's context. The registration goes when the context does, and
/// nobody else registers this memory again, so it tells lives apart; an address on the device may be handed out twice.
struct watch {
  void* page = nullptr;  ///< never freed: buffers with static lifetime may ask at the very end
  bool registered = false;
  unsigned number = 0;
};
constexpr std::size_t page_bytes = 65536;  // at least a page, on every machine

struct watches {
  std::mutex lock;
  std::array<watch, 64> of_devices;
};
watches& all_watches() {
  static auto& all = *new watches;
  return all;
}

/// A question that fails for another reason is no answer: then nothing has ended. Past the observer of calls, since
/// destructors ask, the last of them when it may be gone.
bool lost(const watch& one) {
  cudaPointerAttributes found{};
  const cudaError_t status = cudaPointerGetAttributes(&found, one.page);
  if (status != cudaSuccess) cudaGetLastError();  // so that nobody else finds it
  return status == cudaSuccess ? found.type == cudaMemoryTypeUnregistered
                               : status == cudaErrorContextIsDestroyed || status == cudaErrorDeviceUninitialized;
}

}  // namespace

context_life context_life::current() {
  const relaxed_capture_mode relaxed;
  int device = 0;
  WHILST_CUDA("asking for the current device", cudaGetDevice(&device));
  const std::lock_guard hold(all_watches().lock);
  watch& one = all_watches().of_devices.at(static_cast<std::size_t>(device));
  if (one.registered && lost(one)) one.registered = false;
  if (one.registered) return {device, one.number};
  if (!one.page) one.page = std::aligned_alloc(page_bytes, page_bytes);
  if (!one.page || WHILST_CUDA_ATTEMPT(cudaHostRegister(one.page, page_bytes, cudaHostRegisterDefault)) != cudaSuccess)
    return {};
  one.registered = true;
  return {device, ++one.number};
}

bool context_life::ended() const {
  if (device_ < 0) return false;
  const relaxed_capture_mode relaxed;
  const std::lock_guard hold(all_watches().lock);
  watch& one = all_watches().of_devices.at(static_cast<std::size_t>(device_));
  if (one.registered && lost(one)) one.registered = false;
  return !one.registered || one.number != number_;
}

#else

context_life context_life::current() { return {}; }
bool context_life::ended() const { return false; }

#endif

void context_life::require(std::string_view doing) const {
  if (!ended()) return;
  throw error(doing,
              "the CUDA context of GPU " + std::to_string(device_) +
                  " that it was made in was destroyed, as by cudaDeviceReset(), and all of its memory with it",
              "Call whilst::reset(), which drops what whilst::solve keeps, and make other solvers and buffers anew");
}

}  // namespace whilst::cuda
