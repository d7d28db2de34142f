#pragma once

// Faults on purpose: each CUDA call of a use fails in turn, and what is left must be as good as before.

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

enum class of_threads { this_one, others };

/// While it lives, the k-th CUDA call of the library, counted from 1, is not made and fails: of the calls on the thread
/// that made this, or of those on others.
class failing_call {
 public:
  failing_call(index_type k, cudaError_t status, of_threads whose = of_threads::this_one) {
    whilst::cuda::observer() = [=, this, mine = std::this_thread::get_id()](const whilst::cuda::observed_call& call) {
      const bool here = std::this_thread::get_id() == mine;
      if (here != (whose == of_threads::this_one) || ++calls_ != k) return cudaSuccess;
      expression_ = call.expression;
      must_succeed_ = call.must_succeed;
      happened_.store(true, std::memory_order_release);
      return status;
    };
  }
  ~failing_call() { whilst::cuda::observer() = nullptr; }
  failing_call(const failing_call&) = delete;
  failing_call& operator=(const failing_call&) = delete;

  bool happened() const { return happened_.load(std::memory_order_acquire); }
  // Of the call that failed, once it has.
  const std::string& expression() const { return expression_; }
  bool must_succeed() const { return must_succeed_; }

 private:
  std::atomic<index_type> calls_ = 0;
  std::atomic<bool> happened_ = false;
  std::string expression_;
  bool must_succeed_ = false;
};

struct fault_settings {
  cudaError_t status = cudaErrorMemoryAllocation;
  /// There is a second way for what must succeed, so that its failure may stay without an exception.
  bool has_other_way = false;
};

/// Calls use() for k = 1, 2, ... with its k-th CUDA call failing, then check(), until use() makes no more calls.
/// Returns how many it makes. What fails must come out of use() as a whilst::error that names the call, unless the
/// failure is an answer. check() may find work in flight, as any caller whose use threw.
inline index_type fail_each_call(const std::function<void()>& use, const std::function<void()>& check,
                                 const fault_settings& settings = {}) {
  for (index_type k = 1;; ++k) {
    std::string failed, thrown;
    bool must_succeed = false;
    {
      failing_call fault(k, settings.status);
      try {
        use();
      } catch (const whilst::error& failure) {
        thrown = failure.what();
      }
      failed = fault.expression();
      must_succeed = fault.must_succeed();
    }
    INFO("call " << k << " failed: " << failed << "\nthrown: " << thrown);
    if (failed.empty()) {
      CHECK(thrown.empty());
    } else if (must_succeed && !(settings.has_other_way && thrown.empty())) {
      CHECK_THAT(thrown, contains(failed + " failed with "));
    }
    check();
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaGetLastError() == cudaSuccess);  // an error that is left behind is found by whoever asks next
    if (failed.empty()) return k - 1;
  }
}

/// Runs `round` until it costs no memory of the GPU. Other programs on it may take some meanwhile, but not always.
/// bytes_of_one: what the smallest thing holds that a round could leave behind, one program or one solver. CUDA tells
/// free memory by pieces of 2 MiB, and the driver keeps a piece or two for itself, so that less than 8 MB would hide
/// there: a single small buffer, event or stream that nobody owns is not found this way.
inline void check_no_leak(double bytes_of_one, const std::function<void()>& round) {
  constexpr double keeps_of_drivers = 4e6;
  REQUIRE(bytes_of_one >= 2 * keeps_of_drivers);
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
    return static_cast<double>(free);
  };
  round();  // what is loaded and cached once and for all
  double least_lost = 1e18;
  for (int attempt = 0; attempt < 5 && least_lost > 0; ++attempt) {
    const double before = free_bytes();
    round();
    least_lost = std::min(least_lost, before - free_bytes());
  }
  CHECK(least_lost <= keeps_of_drivers);
}

/// A block an index, with 128 bytes of partial sums each: a program with such a step over bulk_blocks holds more than 8
/// MB of its own.
struct bulk {
  static constexpr bool whole_block = true;
  double share;
  int threads_wanted() const { return 256; }
  template <class Team>
  WHILST_HD auto operator()(index_type, const Team&) const {
    whilst::sums<double, 16> shares{};
    shares.value[15] = share;
    return shares;
  }
};
struct keep_bulk {
  double* total;
  WHILST_HD void operator()(const whilst::sums<double, 16>& shares) const { *total = shares[15]; }
};
constexpr index_type bulk_blocks = 65'535;

/// What the program holds by itself of the GPU's memory: partial sums.
inline double bytes_of(const whilst::program& program) {
  double bytes = 0;
  for (const whilst::memory_item& item : program.memory().items)
    if (item.name == "partial sums and tickets") bytes += static_cast<double>(item.bytes);
  return bytes;
}

/// What enqueue() puts into a capture of the stream, which ends whatever happens.
inline whilst::cuda::graph captured(cudaStream_t stream, const std::function<void()>& enqueue) {
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    const whilst::cuda::graph spoilt(graph);
    throw;
  }
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  return whilst::cuda::graph(graph);
}

/// Launches a graph once, and waits for it.
inline void launch_once(const whilst::cuda::graph& graph, cudaStream_t stream) {
  cudaGraphExec_t made = nullptr;
  REQUIRE(cudaGraphInstantiate(&made, graph.get(), 0) == cudaSuccess);
  const whilst::cuda::graph_exec exec(made);
  REQUIRE(cudaGraphLaunch(exec.get(), stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
}

#endif

}  // namespace whilst_test
