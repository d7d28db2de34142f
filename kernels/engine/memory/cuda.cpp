// compiled by nvcc where CUDA is on
#include "whilst/engine/memory/cuda.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/engine/memory/capture_finding.hpp"
#include "kernels/engine/memory/driver_function.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

#if WHILST_WITH_CUDA

namespace cuda {

call_observer& observer() {
  static call_observer the_observer;
  return the_observer;
}

int& caught_failures::depth() {
  static thread_local int the_depth = 0;
  return the_depth;
}

namespace {

/// Whether an error stems from a kernel or device fault that destroyed the context: then the next call fails likewise.
bool has_cost_the_context(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown: {
      const relaxed_capture_mode relaxed;
      std::size_t free = 0, total = 0;
      const bool fails_again = cudaMemGetInfo(&free, &total) == status;
      cudaGetLastError();
      return fails_again;
    }
    default:
      return false;
  }
}

}  // namespace

void fail(cudaError_t status, const char* expression, std::string_view doing) {
  if (is_forked()) throw error(doing, forked_problem, forked_cure);
  cudaGetLastError();  // clears what is not sticky, so that the next call starts clean
  if (has_cost_the_context(status)) {
    context_life::end_current(cudaGetErrorName(status));
    throw error(
        doing,
        std::string(expression) + " failed with " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) +
            "), and the CUDA context is lost with all that is in it",
        "Restart the process: CUDA calls go on failing in this one. compute-sanitizer finds the kernel at fault");
  }
  std::string cure;
  const std::string what =
      std::string(expression) + " failed with " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")";
  switch (status) {
    case cudaErrorMemoryAllocation:
      throw out_of_memory(doing, what, "Free memory on the GPU or solve a smaller problem");
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      cure = "Check the driver with 'whilst info', or use executor host";
      break;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
      cure = "Build with this GPU's architecture in WHILST_CUDA_ARCHITECTURES, or use executor host";
      break;
    case cudaErrorInvalidResourceHandle:
      cure = "Give a stream of the GPU that the solver or program is on, and none that has been destroyed";
      break;
    default:
      const auto of_capture = capture_finding(status);
      cure = of_capture ? of_capture->cure
                        : "If it persists, run under compute-sanitizer to find the first kernel at fault";
      break;
  }
  throw error(doing, what, cure);
}

device_guard::device_guard(int device) {
  WHILST_CUDA("asking for the current device", cudaGetDevice(&previous_));
  if (device == previous_) return;
  previous_context_ = current_context();
  WHILST_CUDA("choosing GPU " + std::to_string(device), cudaSetDevice(device));
  changed_ = true;
}
device_guard::~device_guard() {
  if (!changed_) return;
  // cudaSetDevice would make that device's primary context current, replacing one of the caller's own.
  if (previous_context_ && make_context_current(previous_context_)) return;
  cudaSetDevice(previous_);
}

void abandon_capture(cudaStream_t stream, bool is_body) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone) {
    cudaGraph_t abandoned = nullptr;
    cudaStreamEndCapture(stream, &abandoned);
    if (!is_body) graph{abandoned};
  }
  cudaGetLastError();  // the original error is already being reported
}

namespace {

struct kept_stream {
  cudaStream_t stream;
  context_life life;
};
constexpr std::size_t most_kept_streams = 64;
struct kept_streams {
  std::mutex lock;
  std::vector<kept_stream> all;
};
/// Until the process ends: objects with static lifetime may release theirs last.
kept_streams& streams_to_spare() {
  static auto& kept = *new kept_streams;
  return kept;
}

/// Keeps a stream, unless that makes too many. None with work in flight, which the next holder's would wait for, and
/// none that a capture has been left on.
bool keep_for_the_next(cudaStream_t stream, context_life life) noexcept {
  cudaStreamCaptureStatus status{};
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone ||
      cudaStreamQuery(stream) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  try {
    kept_streams& kept = streams_to_spare();
    const std::lock_guard hold(kept.lock);
    if (kept.all.size() >= most_kept_streams)
      std::erase_if(kept.all, [](const kept_stream& one) { return one.life.ended(); });
    if (kept.all.size() >= most_kept_streams) return false;
    kept.all.push_back({stream, life});
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void stream_release::operator()(cudaStream_t handle) const noexcept {
  if (life.ended()) return;
  const relaxed_capture_mode relaxed;
  if (may_be_kept && life != context_life() && keep_for_the_next(handle, life)) return;
  cudaStreamDestroy(handle);
}

stream make_stream() {
  const context_life life = context_life::current();
  {
    kept_streams& kept = streams_to_spare();
    const std::lock_guard hold(kept.lock);
    const auto found =
        std::find_if(kept.all.begin(), kept.all.end(), [&](const kept_stream& one) { return one.life == life; });
    if (found != kept.all.end()) {
      const cudaStream_t taken = found->stream;
      kept.all.erase(found);
      return stream(taken, {life, true});
    }
  }
  cudaStream_t made = nullptr;
  WHILST_CUDA("making a stream", cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return stream(made, {life, true});
}

void finish_copies(std::string_view doing, cudaStream_t stream) {
  try {
    WHILST_CUDA(doing, cudaStreamSynchronize(stream));
  } catch (...) {
    cudaStreamSynchronize(stream);
    cudaGetLastError();
    throw;
  }
}

std::string device_name(int device) {
  // cudaGetDeviceProperties asks for a hundred things besides, some of them by slow ways.
  static const auto device_of = of_driver<CUresult(CUdevice*, int)>("cuDeviceGet");
  static const auto name_of = of_driver<CUresult(char*, int, CUdevice)>("cuDeviceGetName");
  CUdevice found = 0;
  char name[256] = "";
  if (device_of && name_of && device_of(&found, device) == CUDA_SUCCESS &&
      name_of(name, sizeof name, found) == CUDA_SUCCESS)
    return name;
  cudaDeviceProp properties{};
  WHILST_CUDA("asking for a device's name", cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  return WHILST_CUDA_ATTEMPT(cudaMemGetInfo(&free, &total)) == cudaSuccess ? free : 0;
}

event make_event(bool timed) {
  const context_life life = context_life::current();
  cudaEvent_t made = nullptr;
  WHILST_CUDA("making an event", cudaEventCreateWithFlags(&made, timed ? cudaEventDefault : cudaEventDisableTiming));
  return event(made, {life});
}

namespace {

__global__ void count_down_kernel(int* left, cudaGraphConditionalHandle loop) {
  if (--*left <= 0) cudaGraphSetConditional(loop, 0);
}

/// Runs a WHILE node of three trips and counts them.
void run_while_node() {
  constexpr int trips = 3;
  const stream recording = make_stream();
  int device = 0;
  WHILST_CUDA("asking for the current device", cudaGetDevice(&device));
  const shared_memory_block counter(place::gpu(device), sizeof(int));  // costs no copies
  int& left = *static_cast<int*>(counter.data());
  left = trips;
  cudaGraph_t made = nullptr;
  WHILST_CUDA("making a graph", cudaGraphCreate(&made, 0));
  const graph outer(made);
  cudaGraphConditionalHandle loop{};
  WHILST_CUDA("making a condition",
              cudaGraphConditionalHandleCreate(&loop, outer.get(), 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = loop;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  WHILST_CUDA("adding a WHILE node", cudaGraphAddNode(&node, outer.get(), nullptr, nullptr, 0, &params));
#else
  WHILST_CUDA("adding a WHILE node", cudaGraphAddNode(&node, outer.get(), nullptr, 0, &params));
#endif
  WHILST_CUDA("recording a body", cudaStreamBeginCaptureToGraph(recording.get(), params.conditional.phGraph_out[0],
                                                                nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  // Destroyed before the graph, which contains the body.
  const std::unique_ptr<CUstream_st, void (*)(cudaStream_t)> open(
      recording.get(), [](cudaStream_t still_capturing) { abandon_capture(still_capturing, /*is_body=*/true); });
  count_down_kernel<<<1, 1, 0, recording.get()>>>(&left, loop);
  WHILST_CUDA("recording a body", cudaGetLastError());
  cudaGraph_t body = nullptr;
  WHILST_CUDA("recording a body", cudaStreamEndCapture(recording.get(), &body));
  cudaGraphExec_t instantiated = nullptr;
  WHILST_CUDA("instantiating a WHILE graph", cudaGraphInstantiate(&instantiated, outer.get(), 0));
  const graph_exec exec(instantiated);
  WHILST_CUDA("launching a WHILE graph", cudaGraphLaunch(exec.get(), recording.get()));
  WHILST_CUDA("running a WHILE graph", cudaStreamSynchronize(recording.get()));
  if (left != 0) throw error("running a WHILE graph", "it made " + std::to_string(trips - left) + " trips, not 3");
}

}  // namespace

answer kernels(int device) {
  const caught_failures answered;
  try {
    const device_guard current(device);
    cudaFuncAttributes attributes{};
    WHILST_CUDA("loading code of the library on GPU " + std::to_string(device),
                cudaFuncGetAttributes(&attributes, count_down_kernel));
    return {true, "a kernel was loaded"};
  } catch (const error& failure) {
    return {false, failure.what()};
  }
}

answer conditional_nodes(int device) {
  static std::mutex lock;
  static std::array<bool, 64> known_to_work;
  const std::lock_guard hold(lock);
  bool& known = known_to_work.at(static_cast<std::size_t>(device));
  if (known) return {true, "a WHILE node was run"};
  int driver = 0;
  WHILST_CUDA("asking for the driver's version", cudaDriverGetVersion(&driver));
  if (driver < 12040) {
    return {false, "the driver is for CUDA " + std::to_string(driver / 1000) + "." +
                       std::to_string(driver % 1000 / 10) + ", and conditional nodes need 12.4"};
  }
  if (const answer code = kernels(device); !code.work) return code;
  const caught_failures answered;
  try {
    const device_guard current(device);
    run_while_node();
    known = true;
    return {true, "a WHILE node was run"};
  } catch (const error& failure) {
    // Not cached: the failure may have been a lack of memory.
    return {false, std::string("conditional nodes do not work: ") + failure.what()};
  }
}

bool switch_nodes() {
#if CUDART_VERSION >= 12080
  int driver = 0;
  WHILST_CUDA("asking for the driver's version", cudaDriverGetVersion(&driver));
  return driver >= 12080;
#else
  return false;
#endif
}

namespace {

/// CUDA reports "insufficient version" for a missing driver, too.
std::string why_no_device(cudaError_t status) {
  int driver = 0;
  if (WHILST_CUDA_ATTEMPT(cudaDriverGetVersion(&driver)) != cudaSuccess || driver == 0)
    return "no NVIDIA driver is installed, or it is not loaded";
  if (status != cudaErrorInsufficientDriver) return cudaGetErrorString(status);
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  return "the NVIDIA driver is for CUDA up to " + version(driver) + " and this build needs " + version(CUDART_VERSION) +
         ": install a newer driver";
}

}  // namespace

namespace {
std::atomic<bool> has_forked = false;
/// From now on a child process is told from its parent.
void watch_for_forks() {
  [[maybe_unused]] static const int once = pthread_atfork(nullptr, nullptr, [] { has_forked = true; });
}
}  // namespace

bool is_forked() { return has_forked; }

int device_count(std::string* note) {
  if (is_forked()) {
    if (note) *note = forked_problem;
    return 0;
  }
  int count = 0;
  const cudaError_t status = WHILST_CUDA_ATTEMPT(cudaGetDeviceCount(&count));
  if (status == cudaSuccess) {
    watch_for_forks();
    return count;
  }
  if (note) *note = why_no_device(status);
  return 0;
}

}  // namespace cuda

#else

namespace cuda {
bool is_forked() { return false; }
int device_count(std::string* note) {
  if (note) *note = "built without CUDA";
  return 0;
}
}  // namespace cuda

#endif

}  // namespace whilst
