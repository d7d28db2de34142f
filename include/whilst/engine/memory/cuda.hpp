#pragma once

/// All calls to the CUDA runtime go through cuda::call or cuda::attempt, except those in destructors that query,
/// release or restore; a handle from this file owns every resource.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/context_life.hpp"

#if WHILST_WITH_CUDA
#include <cuda_runtime.h>
#endif

struct CUstream_st;

namespace whilst::cuda {

#if WHILST_WITH_CUDA

/// An imminent call, as an observer sees it.
struct observed_call {
  std::string_view expression;
  bool must_succeed;  ///< its failure becomes an exception; false if failure is an answer
  operator std::string_view() const { return expression; }
};
/// Sees every call before it is made; returns the error to fail with instead of calling, or cudaSuccess. For tests that
/// count calls or inject faults; empty otherwise. Do not change it while calls are in flight.
using call_observer = std::function<cudaError_t(const observed_call&)>;
call_observer& observer();

/// While it lives, exceptions from this thread's calls are caught: as answers, or because nothing can be done. Affects
/// only what observers are told.
class caught_failures {
 public:
  caught_failures() { ++depth(); }
  ~caught_failures() { --depth(); }
  caught_failures(const caught_failures&) = delete;
  caught_failures& operator=(const caught_failures&) = delete;
  static int& depth();
};

/// Throws whilst::error for a call that failed. Notes a fault that destroyed the context: see
/// context_life::end_current.
[[noreturn]] void fail(cudaError_t status, const char* expression, std::string_view doing);

/// The only function that makes CUDA calls.
template <class Function>
cudaError_t make_call(const char* expression, bool must_succeed, Function&& function) {
  const cudaError_t status =
      observer() ? observer()({expression, must_succeed && caught_failures::depth() == 0}) : cudaSuccess;
  return status == cudaSuccess ? function() : status;
}
/// Makes a call that must succeed. `doing` states the purpose in the exception's message.
template <class Function>
void call(std::string_view doing, const char* expression, Function&& function) {
  const cudaError_t status = make_call(expression, /*must_succeed=*/true, function);
  if (status != cudaSuccess) fail(status, expression, doing);
}
#define WHILST_CUDA(doing, ...) ::whilst::cuda::call(doing, #__VA_ARGS__, [&] { return __VA_ARGS__; })
/// Makes a call whose failure is an answer, and returns its status.
template <class Function>
cudaError_t attempt(const char* expression, Function&& function) {
  const cudaError_t status = make_call(expression, /*must_succeed=*/false, function);
  if (status != cudaSuccess) cudaGetLastError();  // clears it, so that no later check finds it
  return status;
}
#define WHILST_CUDA_ATTEMPT(...) ::whilst::cuda::attempt(#__VA_ARGS__, [&] { return __VA_ARGS__; })

/// While it lives, this thread's allocations and the like do not disturb captures in other threads. Nesting costs
/// nothing. For scopes only: destroy in reverse order. A user's call that changes the mode within one must restore it.
class relaxed_capture_mode {
 public:
  relaxed_capture_mode() {
    if (depth_++ == 0) cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  ~relaxed_capture_mode() {
    if (--depth_ == 0) cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  relaxed_capture_mode(const relaxed_capture_mode&) = delete;
  relaxed_capture_mode& operator=(const relaxed_capture_mode&) = delete;

 private:
  static inline thread_local int depth_ = 0;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Makes a device current and restores what was current before, a device's primary context or the caller's own; other
/// threads' captures are not disturbed meanwhile. If a context of the device is already current, it stays.
class device_guard {
 public:
  explicit device_guard(int device);
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  relaxed_capture_mode relaxed_;
  int previous_ = 0;
  void* previous_context_ = nullptr;
  bool changed_ = false;
};

/// Owns what a CUDA destroy function releases; the release does not disturb captures in other threads. Releases nothing
/// if the context is gone.
template <class Handle, cudaError_t (*destroy)(Handle)>
struct destroyer {
  using pointer = Handle;
  context_life life{};
  void operator()(Handle handle) const noexcept {
    if (life.ended()) return;
    const relaxed_capture_mode relaxed;
    destroy(handle);
  }
};
template <class Handle, cudaError_t (*destroy)(Handle)>
using handle = std::unique_ptr<std::remove_pointer_t<Handle>, destroyer<Handle, destroy>>;

/// Releases a stream: one of make_stream's is kept for the next, since both making and destroying one take long.
struct stream_release {
  using pointer = cudaStream_t;
  context_life life{};
  bool may_be_kept = false;
  void operator()(cudaStream_t handle) const noexcept;
};
using stream = std::unique_ptr<CUstream_st, stream_release>;
using event = handle<cudaEvent_t, cudaEventDestroy>;
using graph = handle<cudaGraph_t, cudaGraphDestroy>;
using graph_exec = handle<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Ends the capture in progress on a stream, if any, after a failure: a stream left capturing would be unusable.
/// Discards the recorded graph, unless it is the body of a conditional node and thus part of its graph. For
/// destructors.
void abandon_capture(cudaStream_t stream, bool is_body) noexcept;

/// A stream that does not synchronise with the legacy default stream; new, or released by somebody else in this
/// context.
stream make_stream();
event make_event(bool timed = false);

/// Waits for copies on a stream that nothing else waits for. If waiting fails, waits once more before throwing: the
/// caller may then free the source or target.
void finish_copies(std::string_view doing, cudaStream_t stream);

/// A device's name, such as "NVIDIA H200".
std::string device_name(int device);

/// Free memory of the current device; 0 if unknown.
std::size_t free_bytes();

/// Whether something works on a device, found by trying it. `note` says how this was determined, or why it does not
/// work.
struct answer {
  bool work;
  std::string note;
};
/// Kernels of the library: a build for other architectures has none that the device can load.
answer kernels(int device);
/// Conditional WHILE nodes, of the device and its driver. Success is remembered per device.
answer conditional_nodes(int device);
/// Whether a conditional node may have several bodies, one of which runs: needs toolkit and driver 12.8.
bool switch_nodes();

#endif

/// Whether this process was forked from one in which the library had found a GPU: CUDA does not survive that.
bool is_forked();
inline constexpr const char* forked_problem = "CUDA does not survive the fork that made this process";
inline constexpr const char* forked_cure =
    "Use executor host here, fork before the library looks for a GPU, or start the process anew (in Python: "
    "multiprocessing's method spawn)";

/// The number of CUDA devices; 0 without CUDA, a driver or a GPU. `note` (where given) receives why there is none.
int device_count(std::string* note = nullptr);

}  // namespace whilst::cuda
