// compiled by nvcc where CUDA is on
// Fits enqueued by several threads, on streams that wait, and into captures.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <atomic>
#include <optional>
#include <thread>

#include "tests/least_squares/enqueued_fits.hpp"

namespace whilst_test {

using namespace enqueued_fits;

TEST_CASE("threads that share a fit and enqueue each get their own report", "[least_squares][enqueue][threads]") {
  const line_data line(2, 1000);  // long enough that threads wait for one another
  for (const std::string& executor : executors()) {
    INFO(executor);
    curve_fit<double, straight_line> fit({}, line.x, line.y, {.executor = executor});
    constexpr int threads = 3, times = 100;
    std::vector<std::vector<double>> found(threads * times);
    std::vector<std::optional<least_squares_report>> reports(threads * times);
    std::atomic<int> ready{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        ++ready;
        while (ready < threads) std::this_thread::yield();
        for (int k = 0; k < times; ++k) {
          const auto at = static_cast<std::size_t>(t * times + k);
          buffer<double> b = on_place(executor, {1.0 * t, 1.0 * k});
          reports[at] = fit.enqueue(nullptr, b.data()).wait();
          found[at] = values(b);
        }
      });
    for (std::thread& one : all) one.join();
    for (std::size_t k = 0; k < found.size(); ++k) line.check(*reports[k], found[k]);
  }
}

#if WHILST_WITH_CUDA

namespace {

bool skipped() {
  if (has_gpu()) return false;
  WARN("skipped: no GPU");
  return true;
}

}  // namespace

TEST_CASE("a ticket cancels a fit that waits for its turn on a GPU, and not the next",
          "[least_squares][enqueue][gpu]") {
  if (skipped()) return;
  const decay_data data;
  for (const char* executor : {"graph", "resident"}) {
    INFO(executor);
    auto fit = data.fit({.executor = executor});
    buffer<double> b = on_place(executor, far), next = on_place(executor, far);
    const whilst::cuda::stream stream = whilst::cuda::make_stream();
    held_stream held(stream.get());
    const least_squares_ticket waiting = fit.enqueue(stream.get(), b.data());
    const least_squares_ticket after = fit.enqueue(stream.get(), next.data());
    CHECK_FALSE(waiting.done());
    waiting.cancel();
    held.open();
    CHECK(waiting.wait().reason() == reason::cancelled);
    CHECK(after.wait().converged());
  }
}

TEST_CASE("a fit becomes part of the caller's graph", "[least_squares][enqueue][gpu]") {
  if (skipped()) return;
  const decay_data data;
  for (const char* executor : {"graph", "resident"}) {
    INFO(executor);
    auto fit = data.fit({.executor = executor});
    buffer<double> start = on_place(executor, far), b = on_place(executor, far);
    const whilst::cuda::stream stream = whilst::cuda::make_stream();
    std::vector<least_squares_ticket> tickets;
    const auto graph = captured_batch(stream.get(), [&] {
      WHILST_CUDA("copying the start",
                  cudaMemcpyAsync(b.data(), start.data(), 2 * sizeof(double), cudaMemcpyDeviceToDevice, stream.get()));
      tickets.push_back(fit.enqueue(stream.get(), b.data()));
    });
    CHECK_FALSE(tickets[0].done());
    CHECK_THROWS_WITH(tickets[0].wait(), contains("has not completed a launch yet"));
    for (const auto& from : {far, std::vector<double>{2, 1}, std::vector<double>{4, 0.1}}) {
      start.upload(from.data());
      launch_and_wait(graph, stream.get());
      const least_squares_report report = tickets[0].wait();
      std::vector<double> expected = from;
      auto alone = data.fit({.executor = executor});
      const least_squares_report told = alone.solve(expected);
      CHECK(values(b) == expected);
      CHECK(report.iterations() == told.iterations());
      CHECK(report.covariance == told.covariance);
    }
  }
}

TEST_CASE("enqueueing a fit neither allocates nor waits", "[least_squares][enqueue][gpu]") {
  if (skipped()) return;
  const decay_data data;
  for (const char* executor : {"graph", "resident"}) {
    INFO(executor);
    auto fit = data.fit({.executor = executor});
    buffer<double> b = on_place(executor, far);
    const whilst::cuda::stream stream = whilst::cuda::make_stream();
    std::vector<std::string> calls;
    whilst::cuda::observer() = [&](std::string_view expression) {
      calls.emplace_back(expression);
      return cudaSuccess;
    };
    const least_squares_ticket ticket = fit.enqueue(stream.get(), b.data());
    whilst::cuda::observer() = {};
    CHECK(calls.size() >= 2);
    for (const std::string& call : calls)
      for (const char* name : {"cudaMalloc", "cudaHostAlloc", "cudaFree", "Synchronize", "cudaMemcpy(", "cudaMemset("})
        CHECK(call.find(name) == std::string::npos);
    CHECK(ticket.wait().converged());
  }
}

#endif

}  // namespace whilst_test
