#include "whilst/engine/memory/context_life.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>

#include "kernels/engine/memory/driver_function.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst::cuda {

#if WHILST_WITH_CUDA

namespace {

/// Our own host memory, registered with a context. The registration ends with the context, and nothing else registers
/// this memory, so it distinguishes lives; a device address or a context's handle may be reused.
struct watch {
  int device = 0;
  void* context = nullptr;
  void* page = nullptr;  ///< never freed: buffers with static lifetime may query at exit
  bool registered = false;
  unsigned number = 0;
  std::string fault;  ///< the fault that ended the life of this number
};
constexpr std::size_t page_bytes = 65536;  // at least a page, on every machine

struct watches {
  std::mutex lock;
  std::deque<watch> all;
};
watches& all_watches() {
  static auto& all = *new watches;
  return all;
}

/// If the query fails for another reason, assume nothing has ended. Bypasses the call observer, since destructors
/// query, the last of them when it may be gone.
bool lost(const watch& one) {
  cudaPointerAttributes found{};
  const cudaError_t status = cudaPointerGetAttributes(&found, one.page);
  if (status == cudaSuccess) return found.type == cudaMemoryTypeUnregistered;
  cudaGetLastError();  // clears it, so that no later check finds it
  if (status != cudaErrorContextIsDestroyed && status != cudaErrorDeviceUninitialized) return false;
  // That was about the current context, which need not be this one.
  void* const now = current_context();
  return !now || now == one.context;
}

/// Updates whether a context still exists.
void look_after(watch& one) {
  if ((!one.registered && one.fault.empty()) || !lost(one)) return;
  one.registered = false;
  one.fault.clear();
}

/// The context that this thread's calls use. A thread without one gets its GPU's primary context on its first call.
void* context_of_calls() {
  if (void* const now = current_context()) return now;
  static_cast<void>(WHILST_CUDA_ATTEMPT(cudaFree(nullptr)));
  return current_context();
}

/// An entry free to watch another context.
watch& free_watch() {
  auto& all = all_watches().all;
  for (watch& one : all) look_after(one);
  const auto is_free = [](const watch& one) { return !one.registered && one.fault.empty(); };
  const auto found = std::find_if(all.begin(), all.end(), is_free);
  return found != all.end() ? *found : all.emplace_back();
}

[[noreturn]] void refuse_after_fault(std::string_view doing, const watch& one) {
  throw error(doing,
              "the CUDA context of GPU " + std::to_string(one.device) + " was lost to an earlier error, " + one.fault +
                  ", and with it all that is in it",
              "Restart the process: CUDA calls go on failing in this one");
}

}  // namespace

void* current_context() noexcept {
  static const auto get = of_driver<CUresult(CUcontext*)>("cuCtxGetCurrent");
  CUcontext found = nullptr;
  return get && get(&found) == CUDA_SUCCESS ? found : nullptr;
}

bool make_context_current(void* context) noexcept {
  static const auto set = of_driver<CUresult(CUcontext)>("cuCtxSetCurrent");
  return set && set(static_cast<CUcontext>(context)) == CUDA_SUCCESS;
}

context_life context_life::current() {
  const relaxed_capture_mode relaxed;
  int device = 0;
  WHILST_CUDA("asking for the current device", cudaGetDevice(&device));
  const void* const context = context_of_calls();
  const std::lock_guard hold(all_watches().lock);
  auto& all = all_watches().all;
  const auto is_this = [&](const watch& one) { return one.device == device && one.context == context; };
  auto found = std::find_if(all.begin(), all.end(), is_this);
  if (found != all.end()) look_after(*found);
  if (found != all.end() && !found->fault.empty()) refuse_after_fault("using a CUDA context", *found);
  watch& one = found != all.end() ? *found : free_watch();
  const auto place = static_cast<std::size_t>(
      std::find_if(all.begin(), all.end(), [&](const watch& other) { return &other == &one; }) - all.begin());
  if (one.registered) return {one.context, place, one.number};
  if (!one.page) one.page = std::aligned_alloc(page_bytes, page_bytes);
  if (!one.page || WHILST_CUDA_ATTEMPT(cudaHostRegister(one.page, page_bytes, cudaHostRegisterDefault)) != cudaSuccess)
    return {};
  one.device = device;
  one.context = current_context();  // after a reset, registering has made a new one
  one.registered = true;
  return {one.context, place, ++one.number};
}

void context_life::end_current(std::string_view how) {
  void* const context = current_context();
  const std::lock_guard hold(all_watches().lock);
  for (watch& one : all_watches().all) {
    if (!one.registered || one.context != context) continue;
    one.fault = how;
    one.registered = false;
  }
}

bool context_life::ended() const {
  if (number_ == 0) return false;
  if (is_forked()) return true;
  const relaxed_capture_mode relaxed;
  const std::lock_guard hold(all_watches().lock);
  watch& one = all_watches().all[place_];
  look_after(one);
  return !one.registered || one.number != number_;
}

bool context_life::is_elsewhere() const {
  void* const now = number_ ? current_context() : nullptr;
  if (!now || now == context_) return false;
  int device = 0;
  if (WHILST_CUDA_ATTEMPT(cudaGetDevice(&device)) != cudaSuccess) return false;
  const std::lock_guard hold(all_watches().lock);
  return all_watches().all[place_].device == device;
}

void context_life::require_alive(std::string_view doing) const {
  if (!ended()) return;
  if (is_forked()) throw error(doing, forked_problem, forked_cure);
  const std::lock_guard hold(all_watches().lock);
  const watch& one = all_watches().all[place_];
  if (one.number == number_ && !one.fault.empty()) refuse_after_fault(doing, one);
  throw error(doing,
              "the CUDA context that it was made in was destroyed, as by cudaDeviceReset(), and all of its memory with "
              "it",
              "Call whilst::reset(), which drops what whilst::solve keeps, and make other solvers and buffers anew");
}

void context_life::require(std::string_view doing) const {
  require_alive(doing);
  if (!is_elsewhere()) return;
  throw error(doing, "it was made in another CUDA context of this GPU than the one that is current",
              "Make that context current again, by cuCtxSetCurrent, or by cudaSetDevice where it is the GPU's primary "
              "one; or make another in this context");
}

#else

void* current_context() noexcept { return nullptr; }
bool make_context_current(void*) noexcept { return false; }
context_life context_life::current() { return {}; }
void context_life::end_current(std::string_view) {}
bool context_life::ended() const { return false; }
bool context_life::is_elsewhere() const { return false; }
void context_life::require_alive(std::string_view) const {}
void context_life::require(std::string_view) const {}

#endif

}  // namespace whilst::cuda
