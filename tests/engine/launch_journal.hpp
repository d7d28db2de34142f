#pragma once

// What the tests of launches that differ from one another share.

#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/recorder.hpp"

namespace whilst_test {

/// Keeps a GPU busy for some 50 microseconds, so that launches queue up behind it.
struct slow_step {
  WHILST_HD void operator()(whilst::index_type, double first) const {
    if (first < 0) return;
    volatile double x = first;
    for (int k = 0; k < 2000; ++k) x = x * 0.5 + 1;
  }
  WHILST_HD double read(whilst::index_type) const { return 1; }
};
inline void add_slow_step(whilst::recorder& record) { record.step("keep busy", 1, slow_step{}); }

/// 48 bits without a pattern: as digits of a number they tell which launch had which, and a double holds them exactly.
inline std::vector<int> bits_in_turn() {
  std::vector<int> bits;
  for (unsigned k = 0, state = 1; k < 48; ++k) {
    state = state * 1664525u + 1013904223u;
    bits.push_back(static_cast<int>(state >> 31));
  }
  return bits;
}

#if WHILST_WITH_CUDA

/// What the program enqueues, as a graph of the caller's.
inline whilst::cuda::graph_exec capture_of(cudaStream_t stream, whilst::program& program) {
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  program.enqueue(stream);
  cudaGraph_t made = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &made) == cudaSuccess);
  const whilst::cuda::graph graph(made);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, made, 0) == cudaSuccess);
  return whilst::cuda::graph_exec(exec);
}

/// The CUDA calls of the library while it lives.
class counted_calls {
 public:
  counted_calls() {
    whilst::cuda::observer() = [this](std::string_view expression) {
      calls_.emplace_back(expression);
      return cudaSuccess;
    };
  }
  ~counted_calls() { whilst::cuda::observer() = nullptr; }
  counted_calls(const counted_calls&) = delete;
  counted_calls& operator=(const counted_calls&) = delete;
  std::size_t size() const { return calls_.size(); }
  int of(const std::string& name) const {
    int count = 0;
    for (const std::string& call : calls_) count += call.find(name) != std::string::npos;
    return count;
  }

 private:
  std::vector<std::string> calls_;
};

#endif

}  // namespace whilst_test
