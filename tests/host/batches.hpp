#pragma once

// What tests of batches share: where they run, how they are cancelled and captured.

#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/held_stream.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/host_device.hpp"
#include "whilst/reason.hpp"

namespace whilst_test {

inline bool has_gpu() { return whilst::cuda::device_count() > 0; }
/// The executors that take a batch to different places.
inline std::vector<std::string> batch_executors() {
  return has_gpu() ? std::vector<std::string>{"host", "batch"} : std::vector<std::string>{"host"};
}

/// Deterministic numbers between -1 and 1.
inline double noise(whilst::index_type i) {
  const auto number = static_cast<double>(i);
  return std::sin(12.9898 * number) * std::cos(78.233 * number);
}

/// On the host: what the next evaluation of a function that minds it calls, once.
inline std::atomic<const std::function<void()>*> at_next_evaluation{nullptr};
/// For such functions.
WHILST_HD inline void mind_the_next_evaluation() {
#if !defined(__CUDA_ARCH__)
  if (at_next_evaluation.load())
    if (const std::function<void()>* const call = at_next_evaluation.exchange(nullptr)) (*call)();
#endif
}
/// Solves on the host, and cancels in the first evaluation.
template <class Batch>
auto solve_and_cancel_at_once(Batch& batch, std::vector<double>& x) {
  const std::function<void()> cancel = [&] { batch.cancel(); };
  at_next_evaluation = &cancel;
  auto report = batch.solve(x);
  REQUIRE(at_next_evaluation == nullptr);
  return report;
}

/// A batch on the host, with one thread, of problems that take several trips: a cancel ends the one that runs, and
/// those that wait for their turn. Returns the report of the next launch.
template <class Batch>
auto check_cancel_on_host(Batch& batch, const std::vector<double>& start) {
  batch.cancel();  // nothing has been launched: this is for nobody
  std::vector<double> x = start;
  const auto report = solve_and_cancel_at_once(batch, x);
  INFO(report.message());
  for (const auto& one : report) {
    REQUIRE(one.reason == whilst::reason::cancelled);
    REQUIRE(one.iterations <= 1);
  }
  // The next launch is not concerned.
  x = start;
  const auto next = batch.solve(x);
  for (const auto& one : next) REQUIRE(one.reason != whilst::reason::cancelled);
  return next;
}

#if WHILST_WITH_CUDA

/// A batch on the GPU that waits for its turn is cancelled, and the next is not. Returns the report of that.
template <class Batch>
auto check_cancel_on_gpu(Batch& batch, const std::vector<double>& start) {
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  whilst::buffer<double> x(whilst::place::gpu(0), static_cast<whilst::index_type>(start.size()));
  x.upload(start.data());
  held_stream held(stream.get());
  batch.enqueue(stream.get(), x.data());
  batch.cancel();
  held.open();
  for (const auto& one : batch.wait()) REQUIRE(one.reason == whilst::reason::cancelled);
  batch.enqueue(stream.get(), x.data());
  const auto next = batch.wait();
  for (const auto& one : next) REQUIRE(one.reason != whilst::reason::cancelled);
  return next;
}

/// What `enqueue` puts on the stream, as a graph.
template <class Enqueue>
whilst::cuda::graph_exec captured_batch(cudaStream_t stream, const Enqueue& enqueue) {
  WHILST_CUDA("capturing", cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  enqueue();
  cudaGraph_t captured = nullptr;
  WHILST_CUDA("capturing", cudaStreamEndCapture(stream, &captured));
  const whilst::cuda::graph graph(captured);
  cudaGraphExec_t made = nullptr;
  WHILST_CUDA("instantiating", cudaGraphInstantiate(&made, captured, 0));
  return whilst::cuda::graph_exec(made);
}
inline void launch_and_wait(const whilst::cuda::graph_exec& graph, cudaStream_t stream) {
  WHILST_CUDA("launching", cudaGraphLaunch(graph.get(), stream));
  WHILST_CUDA("waiting", cudaStreamSynchronize(stream));
}

#endif

}  // namespace whilst_test
