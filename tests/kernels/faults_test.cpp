// compiled by nvcc where CUDA is on
// What is left when a CUDA call fails: nothing that is in the way of the next one.

#include <algorithm>
#include <string>

#include "tests/catch.hpp"
#include "tests/kernels/nests.hpp"
#include "tests/kernels/toy.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::executor;
using whilst::program_recorder;

namespace {

/// While it lives, the k-th CUDA call of the library fails, counted from 1.
class failing_call {
 public:
  explicit failing_call(index k) {
    whilst::cuda::observer() = [this, k](std::string_view expression) {
      if (++calls_ != k) return cudaSuccess;
      failed_ = expression;
      return cudaErrorMemoryAllocation;
    };
  }
  ~failing_call() { whilst::cuda::observer() = nullptr; }
  failing_call(const failing_call&) = delete;
  failing_call& operator=(const failing_call&) = delete;
  /// The expression that failed; empty if there were not so many calls.
  const std::string& failed() const { return failed_; }

 private:
  index calls_ = 0;
  std::string failed_;
};

/// Calls use(k) for k = 1, 2, ... with the k-th CUDA call failing, then check(), until there are no more calls. Returns
/// how many there were. use may throw whilst::error.
template <class Use, class Check>
index fail_each_call(const Use& use, const Check& check) {
  for (index k = 1;; ++k) {
    std::string failed;
    {
      failing_call fault(k);
      try {
        use();
      } catch (const whilst::error&) {
      }
      failed = fault.failed();
    }
    INFO("call " << k << " failed: " << failed);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    check();
    if (failed.empty()) return k - 1;
  }
}

/// Runs `round` until it costs no memory of the GPU. Other programs on it may take some meanwhile, but not always.
template <class Round>
void check_no_leak(const Round& round) {
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
  // A round makes more than a hundred programs; were the memory of one in ten left, that would be more.
  CHECK(least_lost <= 4e6);
}

/// Many sums, so that a program's own memory is half a megabyte.
struct ones {
  WHILST_HD auto operator()(index) const {
    whilst::sums<double, 64> share{};
    share.value[63] = 1;
    return share;
  }
};
struct keep_last {
  double* target;
  WHILST_HD void operator()(const whilst::sums<double, 64>& total) const { *target = total[63]; }
};

/// Loops, a branch, a call and a large step, with results that are known.
struct work {
  place where = place::gpu(0);
  three_steps_memory memory{where, 600};
  whilst::buffer<control> c{where, 2};
  whilst::buffer<int> flag{where, 1};
  whilst::buffer<double> in_start{where, 5}, in_loop{where, 5}, after{where, 5}, counted{where, 1};

  whilst::program record() {
    program_recorder record(where);
    memory.method(1)(record);
    loop_in_branch{c.data(), flag.data(), in_start.data(), in_loop.data(), after.data()}(record);
    record.step("count", 300'000, ones{}, keep_last{counted.data()});
    record.call("nothing", [](CUstream_st*) {});
    record.parameter(&memory.c.data()->settings, memory.settings());
    record.parameter(memory.stop_at.data(), index{7});
    return std::move(record).finish();
  }
  void zero() {
    memory.zero();
    set_limits(c, {100, 3});
    for (whilst::buffer<double>* x : {&in_start, &in_loop, &after}) x->upload(std::vector<double>(5, 0.0).data());
  }
  void check() const {
    const auto expected = three_steps::expected(600, 7, 1);
    CHECK((values(memory.x) == expected.x));
    CHECK((values(memory.z) == expected.z));
    CHECK(value(memory.c).why == reason::completed);
    CHECK((values(in_start) == std::vector<double>(5, 4.0)));
    CHECK((values(in_loop) == std::vector<double>(5, 12.0)));
    CHECK((values(after) == std::vector<double>(5, 9.0)));
    CHECK(value(counted) == 300'000);
  }
};

}  // namespace

TEST_CASE("whichever CUDA call fails, a program can be prepared and run again, and nothing leaks", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  work w;
  for (const executor how : {executor::graph, executor::stream}) {
    INFO(name(how));
    index calls = 0;
    check_no_leak([&] {
      auto program = std::make_unique<whilst::program>(w.record());
      calls = fail_each_call(
          [&] {
            program->prepare({.how = how, .unroll = 3});
            program->enqueue(nullptr);
            program->wait();
          },
          [&] {
            w.zero();
            program->prepare({.how = how, .unroll = 3});
            CHECK(program->running_on() == how);
            run(*program);
            w.check();
            program = std::make_unique<whilst::program>(w.record());  // the next one prepares for the first time
          });
    });
    CHECK(calls > 20);
  }
}

TEST_CASE("whichever CUDA call fails in the caller's capture, the program can be captured again", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  work w;
  whilst::program program = w.record();
  program.prepare({.how = executor::graph, .unroll = 3});
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  const auto capture = [&](const auto& enqueue) {
    REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
    try {
      enqueue();
    } catch (...) {
      cudaGraph_t spoilt = nullptr;
      cudaStreamEndCapture(stream.get(), &spoilt);
      cudaGetLastError();
      const whilst::cuda::graph owned(spoilt);
      throw;
    }
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
    return whilst::cuda::graph(graph);
  };
  check_no_leak([&] {
    fail_each_call([&] { capture([&] { program.enqueue(stream.get()); }); },
                   [&] {
                     const whilst::cuda::graph graph = capture([&] { program.enqueue(stream.get()); });
                     cudaGraphExec_t exec = nullptr;
                     REQUIRE(cudaGraphInstantiate(&exec, graph.get(), 0) == cudaSuccess);
                     const whilst::cuda::graph_exec owned(exec);
                     w.zero();
                     REQUIRE(cudaGraphLaunch(exec, stream.get()) == cudaSuccess);
                     REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
                     w.check();
                     w.zero();
                     run(program);
                     w.check();
                   });
  });
}

TEST_CASE("whichever CUDA call fails, another solver solves as ever, and nothing leaks", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  whilst::linear_solver_options options;
  options.executor = "graph";
  const auto solve = [&] {
    whilst::linear_solver<double> solver(A, options);
    std::vector<double> x(b.size(), 0.0);
    solver.solve(b, x);
    return x;
  };
  const std::vector<double> expected = solve();
  check_no_leak([&] {
    fail_each_call(
        [&] {
          const auto x = solve();  // what it throws is the failure asked for
          CHECK((x == expected));
        },
        [&] { CHECK((solve() == expected)); });
  });
}

#endif

}  // namespace whilst_test
