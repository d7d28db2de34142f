// Minimizations by enqueue: tickets, streams, and captures.

#include <functional>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::place;
using whilst::reason;
using whilst::report;
using whilst::ticket;

namespace {

constexpr index_type n = 200;

auto springs(index_type unknowns) {
  return [unknowns](place where) { return make_spring_line<double>(where, unknowns); };
}
auto rosenbrock(index_type unknowns) {
  return [unknowns](place where) { return make_rosenbrock<double>(where, unknowns); };
}

std::vector<double> values(const buffer<double>& device) {
  std::vector<double> host(static_cast<std::size_t>(device.size()));
  device.download(host.data());
  return host;
}

/// A stream of its own where there is a GPU.
class any_stream {
 public:
#if WHILST_WITH_CUDA
  any_stream() {
    if (whilst::cuda::device_count() > 0) made_ = whilst::cuda::make_stream();
  }
  whilst::stream_handle get() const { return made_.get(); }

 private:
  whilst::cuda::stream made_;
#else
  whilst::stream_handle get() const { return nullptr; }
#endif
};

/// The same minimization through the door that blocks: same executor, same bits.
struct reference {
  std::vector<double> x;
  minimize_report told;

  template <class Make>
  reference(const Make& make, const minimizer_options& options, const std::vector<double>& start)
      : x(start), told(own_minimizer<double>(make, options).solve(x)) {}
  void check(const report& r, const buffer<double>& found) const {
    CHECK(r.reason() == told.reason());
    CHECK(r.iterations() == told.iterations());
    // Neither was evaluated where there was to be no iteration.
    CHECK((r.residual_norm() == told.residual_norm() ||
           (std::isnan(r.residual_norm()) && std::isnan(told.residual_norm()))));
    CHECK(r.rhs_norm() == told.rhs_norm());
    CHECK((values(found) == x));
  }
};

buffer<double> on_place(const std::string& executor, const std::vector<double>& x) {
  buffer<double> made(whilst::place_of_executor(executor), static_cast<index_type>(x.size()));
  made.upload(x.data());
  return made;
}

}  // namespace

TEST_CASE("a ticket tells how a minimization ended", "[minimizer][enqueue][sanitizer]") {
  const std::vector<double> start = rosenbrock_start<double>(8);
  for (const std::string& executor : recorded_executors()) {
    for (const char* method : {"lbfgs", "newton", "newton-cg"}) {
      INFO(executor << ", " << method);
      const minimizer_options options{.method = method, .tolerances = {.gradient = 1e-6}, .executor = executor};
      const reference expected(rosenbrock(8), options, start);
      CHECK(expected.told.converged());
      own_minimizer<double> again(rosenbrock(8), options);
      buffer<double> x = on_place(executor, start);
      const any_stream stream;
      const ticket t = again.by.enqueue(stream.get(), x.data());
      // Under these it has completed when enqueue returns.
      if (executor == "host" || executor == "stream") CHECK(t.done());
      const report r = t.wait();
      CHECK(t.done());
      expected.check(r, x);
      CHECK(r.history().size() == expected.told.history().size());
      CHECK_FALSE(t.progress().running);
      CHECK(again.by.enqueue(stream.get(), x.data()).wait().iterations() == 0);
    }
  }
}

TEST_CASE("a minimization of memory on the place tells all that one of host memory does", "[minimizer][enqueue]") {
  const std::vector<double> start = rosenbrock_start<double>(8);
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    const minimizer_options options{.tolerances = {.gradient = 1e-6}, .executor = executor};
    const reference expected(rosenbrock(8), options, start);
    own_minimizer<double> again(rosenbrock(8), options);
    const any_stream stream;
    index_type seen = 0;
    for (const bool monitored : {false, true}) {
      if (monitored) again.by.set_monitor([&](const whilst::progress&) { ++seen; });
      buffer<double> x = on_place(executor, start);
      const minimize_report told = again.by.solve(stream.get(), x.data());
      expected.check(told, x);
      CHECK(told.value == expected.told.value);
      CHECK(told.evaluations == expected.told.evaluations);
      CHECK(told.records.size() == expected.told.records.size());
    }
    if (executor == "host" || executor == "stream") CHECK(seen > 0);
    again.by.set_monitor([](const whilst::progress&) { throw std::runtime_error("enough"); });
    buffer<double> x = on_place(executor, start);
    if (executor == "host" || executor == "stream") CHECK_THROWS_WITH(again.by.solve(stream.get(), x.data()), "enough");
    again.by.set_monitor({});
    x = on_place(executor, start);
    expected.check(again.by.solve(stream.get(), x.data()), x);
  }
}

TEST_CASE("minimizations one after another on a stream, more than are prepared for", "[minimizer][enqueue]") {
  for (const std::string& executor : recorded_executors()) {
    own_minimizer<double> one(springs(n), {.executor = executor});
    const any_stream stream;
    std::vector<buffer<double>> x;
    std::vector<ticket> tickets;
    for (int k = 0; k < 20; ++k) x.push_back(on_place(executor, random_vector<double>(n, static_cast<unsigned>(k))));
    for (int k = 0; k < 20; ++k) {
      one.by.set_max_iterations(k);
      tickets.push_back(one.by.enqueue(stream.get(), x[static_cast<std::size_t>(k)].data()));
    }
    for (const int k : {19, 0, 7, 1}) {
      INFO(executor << ", minimization " << k);
      const reference expected(springs(n), {.max_iterations = k, .executor = executor},
                               random_vector<double>(n, static_cast<unsigned>(k)));
      expected.check(tickets[static_cast<std::size_t>(k)].wait(), x[static_cast<std::size_t>(k)]);
    }
  }
}

#if !WHILST_WITH_CUDA

TEST_CASE("minimizations in captures", "[minimizer][enqueue][gpu]") { WARN("skipped: not a CUDA build"); }

#else

namespace {

bool skipped() {
  if (whilst::cuda::device_count() > 0) return false;
  WARN("skipped: no GPU");
  return true;
}

/// What `body` enqueues on the stream, as a graph ready to launch; a capture that fails is ended all the same.
whilst::cuda::graph_exec captured(cudaStream_t stream, const std::function<void()>& body) {
  WHILST_CUDA("starting a capture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaGraph_t made = nullptr;
  try {
    body();
  } catch (...) {
    cudaStreamEndCapture(stream, &made);
    whilst::cuda::graph abandoned(made);
    throw;
  }
  WHILST_CUDA("ending a capture", cudaStreamEndCapture(stream, &made));
  const whilst::cuda::graph owner(made);
  cudaGraphExec_t exec = nullptr;
  WHILST_CUDA("instantiating a capture", cudaGraphInstantiate(&exec, made, 0));
  return whilst::cuda::graph_exec(exec);
}

void launch_and_wait(const whilst::cuda::graph_exec& graph, cudaStream_t stream) {
  WHILST_CUDA("launching a captured graph", cudaGraphLaunch(graph.get(), stream));
  WHILST_CUDA("waiting for a captured graph", cudaStreamSynchronize(stream));
}

}  // namespace

TEST_CASE("a solve that waits is refused on a stream that is being captured", "[minimizer][enqueue][gpu]") {
  if (skipped()) return;
  own_minimizer<double> one(rosenbrock(8), {.executor = "graph"});
  buffer<double> x = on_place("graph", rosenbrock_start<double>(8));
  const any_stream stream;
  for (const bool monitored : {false, true}) {
    if (monitored) one.by.set_monitor([](const whilst::progress&) {});
    CHECK_THROWS_WITH(captured(stream.get(), [&] { one.by.solve(stream.get(), x.data()); }),
                      contains("its stream is being captured"));
  }
  CHECK(one.by.solve(stream.get(), x.data()).converged());
}

TEST_CASE("a minimization becomes part of the caller's graph", "[minimizer][enqueue][gpu]") {
  if (skipped()) return;
  for (const std::string& method : all_methods) {
    INFO(method);
    const minimizer_options options{.method = method, .max_iterations = 300, .executor = "graph"};
    own_minimizer<double> one(rosenbrock(n), options);
    buffer<double> start = on_place("graph", rosenbrock_start<double>(n)), x = on_place("graph", values(start));
    const any_stream stream;
    // Runs before the capture must not disturb it.
    one.by.enqueue(stream.get(), x.data()).wait();
    std::vector<ticket> tickets;
    const auto graph = captured(stream.get(), [&] {
      WHILST_CUDA("copying the start",
                  cudaMemcpyAsync(x.data(), start.data(), sizeof(double) * n, cudaMemcpyDeviceToDevice, stream.get()));
      tickets.push_back(one.by.enqueue(stream.get(), x.data()));
    });
    CHECK_FALSE(tickets[0].done());
    for (const unsigned seed : {1, 2, 3}) {
      const std::vector<double> from = random_vector<double>(n, seed);
      start.upload(from.data());
      launch_and_wait(graph, stream.get());
      REQUIRE(tickets[0].done());
      reference(rosenbrock(n), options, from).check(tickets[0].wait(), x);
    }
    // And beside the graph it works as before.
    std::vector<double> again = random_vector<double>(n, 3);
    one.solve(again);
    CHECK((again == values(x)));
  }
}

TEST_CASE("a minimizer under stream refuses a capture and leaves it whole", "[minimizer][enqueue][gpu]") {
  if (skipped()) return;
  own_minimizer<double> one(springs(n), {.executor = "stream"});
  buffer<double> x = on_place("stream", std::vector<double>(n, 0));
  const any_stream stream;
  std::string message;
  const auto graph = captured(stream.get(), [&] {
    try {
      one.by.enqueue(stream.get(), x.data());
    } catch (const whilst::error& e) {
      message = e.what();
    }
  });
  CHECK_THAT(message, contains("conditional nodes"));
  launch_and_wait(graph, stream.get());
  CHECK(one.by.enqueue(stream.get(), x.data()).wait().converged());
}

TEST_CASE("two minimizers on two streams at once", "[minimizer][enqueue][gpu]") {
  if (skipped()) return;
  const minimizer_options by_newton{.method = "newton-cg", .tolerances = {.gradient = 1e-6}, .executor = "graph"};
  const minimizer_options by_lbfgs{.tolerances = {.gradient = 1e-6}, .executor = "graph"};
  const std::vector<double> zero(3000, 0), start = rosenbrock_start<double>(1000);
  const reference expected_a(springs(3000), by_newton, zero), expected_b(rosenbrock(1000), by_lbfgs, start);
  own_minimizer<double> a(springs(3000), by_newton), b(rosenbrock(1000), by_lbfgs);
  const any_stream one, other;
  for (int round = 0; round < 5; ++round) {
    buffer<double> x = on_place("graph", zero), y = on_place("graph", start);
    const ticket of_a = a.by.enqueue(one.get(), x.data());
    const ticket of_b = b.by.enqueue(other.get(), y.data());
    expected_a.check(of_a.wait(), x);
    expected_b.check(of_b.wait(), y);
  }
  // One on two streams: the second waits for the first.
  buffer<double> x = on_place("graph", zero), y = on_place("graph", random_vector<double>(3000, 4));
  const std::vector<double> from = values(y);
  const ticket first = a.by.enqueue(one.get(), x.data()), second = a.by.enqueue(other.get(), y.data());
  reference(springs(3000), by_newton, from).check(second.wait(), y);
  expected_a.check(first.wait(), x);
}

TEST_CASE("enqueueing a minimization neither allocates nor waits", "[minimizer][enqueue][gpu]") {
  if (skipped()) return;
  for (const std::string& method : all_methods) {
    INFO(method);
    own_minimizer<double> one(springs(n), {.method = method, .max_iterations = 20, .executor = "graph"});
    buffer<double> x = on_place("graph", std::vector<double>(n, 0));
    const any_stream stream;
    std::vector<std::string> calls;
    whilst::cuda::observer() = [&](std::string_view expression) {
      calls.emplace_back(expression);
      return cudaSuccess;
    };
    const ticket t = one.by.enqueue(stream.get(), x.data());
    whilst::cuda::observer() = {};
    CHECK(calls.size() >= 2);
    for (const std::string& call : calls)
      for (const char* name : {"cudaMalloc", "cudaHostAlloc", "cudaFree", "Synchronize", "cudaMemcpy(", "cudaMemset("})
        CHECK(call.find(name) == std::string::npos);
    CHECK(t.wait().iterations() > 0);
  }
}

#endif

}  // namespace whilst_test
