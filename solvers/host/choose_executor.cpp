#include "whilst/host/choose_executor.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/steps/step_frame.hpp"
#include "whilst/host/place_of_executor.hpp"

namespace whilst {
namespace {

/// A block beats a graph up to so many nonzeros, too: it has no trips, no launches, and its vectors in shared memory,
/// but reads the matrix through one multiprocessor, at 0.4 ns per nonzero in double, while a graph's iteration takes
/// hardly longer for ten times as many. That many, 96 KiB in double, is also about what the multiprocessor's L1 cache
/// keeps from one iteration to the next besides 1024 rows of vectors in shared memory. Measured on an H200 with 5 per
/// row (benchmarks/results): one block wins by 1.2 us per iteration with 5000 and loses 4.2 us with 20 000; a cluster
/// of 16 blocks wins by 0.8 us with 5000 in each and loses 2.3 us with 10 000.
constexpr index_type nonzeros_of_block = 8192;

/// Resolves "auto" by the memory that callbacks need. Throws if they cannot have it.
executor obey_callbacks(const executor_wish& asked, executor how, const std::string& doing) {
  const bool is_automatic = asked.executor == "auto";
  if (asked.callback_memory == "host" && how != executor::host) {
    if (is_automatic) return executor::host;
    throw error(doing, "executor " + asked.executor + " gives callbacks device memory, and callback_memory is host",
                "Use executor host or auto, or callbacks that take device memory");
  }
  if (asked.callback_memory == "device" && how == executor::host) {
    if (is_automatic) return executor::automatic;
    throw error(doing, "executor host gives callbacks host memory, and callback_memory is device",
                "Use executor graph or stream, or callbacks that take host memory");
  }
  return how;
}

place gpu_asked_for(int device) {
#if WHILST_WITH_CUDA
  if (device < 0) WHILST_CUDA("asking for the current device", cudaGetDevice(&device));
#endif
  return place::gpu(device);
}

}  // namespace

bool is_fast_in_kernel([[maybe_unused]] const place& where, index_type rows, index_type nonzeros,
                       const kernel_abilities& in_kernel) {
  index_type blocks = in_kernel.runs ? 1 : 0;
#if WHILST_WITH_CUDA
  if (in_kernel.runs && in_kernel.spans_blocks) blocks = largest_cluster_of(where.device());
#endif
  if (blocks == 0 || rows > blocks * in_kernel.most_rows_of_block) return false;
  // Blocks have powers of two rows, but for the last one: see kernel_layout_for.
  const auto share = static_cast<index_type>(std::bit_ceil(static_cast<std::uint64_t>((rows + blocks - 1) / blocks)));
  return nonzeros * std::min(share, rows) <= nonzeros_of_block * rows;
}

executor_choice choose_executor(const executor_wish& asked, index_type rows, bool on_device,
                                const kernel_abilities& in_kernel, index_type nonzeros) {
  std::string doing = "choosing an executor";
  executor how = executor_from_name(asked.executor);
  if (const char* from_environment = std::getenv("WHILST_EXECUTOR"); how == executor::automatic && from_environment) {
    doing = "choosing an executor from WHILST_EXECUTOR";
    try {
      how = executor_from_name(from_environment);
    } catch (const error& unknown) {
      throw error("reading WHILST_EXECUTOR: " + std::string(unknown.what()));
    }
  }
  if (how == executor::batch)
    throw error(doing, "batch is for many systems, and this is one", "Use a batch_linear_solver, or another executor");

  const bool calls_back = !in_kernel.runs;
  if (calls_back) how = obey_callbacks(asked, how, doing);

  std::string no_gpu;
  const int devices = cuda::device_count(&no_gpu);
  if (how == executor::automatic) {
    if (devices == 0) {
      if (calls_back && asked.callback_memory == "device")
        throw error(doing, "callback_memory is device, and there is no GPU (" + no_gpu + ")",
                    "Use callbacks that take host memory");
      how = executor::host;
    } else {
      const bool is_there = asked.device < devices;  // refused below otherwise
      how = is_there && is_fast_in_kernel(gpu_asked_for(asked.device), rows, nonzeros, in_kernel) ? executor::resident
                                                                                                  : executor::graph;
    }
  }
  if (how == executor::host) {
    if (on_device)
      throw error(doing, "the matrix lies on a GPU and executor host runs on the CPU",
                  "Give the matrix in host memory");
    return {place::host(), how};
  }
  if (devices == 0)
    throw error(doing, "'" + std::string(name(how)) + "' needs a GPU (" + no_gpu + ")", "Use executor host");
  if (asked.device >= devices)
    throw error(doing, "there is no device " + std::to_string(asked.device),
                "This machine has " + std::to_string(devices) + ", counted from 0");
  if (how == executor::resident && !in_kernel.runs)
    throw error(doing,
                "resident is one kernel, and cannot run callbacks or steps that an operator, a preconditioner or "
                "the method records apart",
                "Use graph or stream");
  return {gpu_asked_for(asked.device), how};
}

place place_of_batch(const executor_wish& asked, const std::string& making, const std::string& alone, index_type rows,
                     bool on_device) {
  executor how = executor_from_name(asked.executor);
  if (how != executor::automatic && how != executor::host && how != executor::batch)
    throw error(making, "executor '" + asked.executor + "' is for single problems",
                "Use auto, batch or host, or " + alone + " for each problem");
  if (const char* from_environment = std::getenv("WHILST_EXECUTOR"); how == executor::automatic && from_environment) {
    try {
      how = executor_from_name(from_environment);
    } catch (const error& unknown) {
      throw error(making + " with the executor of WHILST_EXECUTOR: " + unknown.what());
    }
  }
  // A resident solve is one kernel too, and runs on the same devices.
  const bool on_host = how == executor::host || cuda::device_count() == 0;
  return choose_executor({.executor = on_host ? "host" : "resident", .device = asked.device}, rows, on_device,
                         {.runs = true})
      .where;
}

place place_of_executor(const std::string& executor, int device) {
  return choose_executor({.executor = executor, .device = device}, 1, false, {.runs = true}).where;
}

}  // namespace whilst
