// compiled by nvcc where CUDA is on
// What is left when a CUDA call fails: nothing that is in the way of the next one.

#include "tests/engine/faults/faults.hpp"
#include "tests/engine/nests.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::executor;
using whilst::program_recorder;

namespace {

/// Loops, a branch, a call and a step with many sums, with results that are known.
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
    record.team("count", bulk_blocks, bulk{1}, keep_bulk{counted.data()});
    record.call("nothing", [](CUstream_st*) {});
    record.parameter(&memory.c.data()->settings, memory.settings());
    record.parameter(memory.stop_at.data(), index_type{7});
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
    CHECK(value(counted) == bulk_blocks);
  }
};

}  // namespace

TEST_CASE("whichever CUDA call fails, a program can be prepared and run again, and nothing leaks",
          "[semantics][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  work w;
  for (const executor how : {executor::graph, executor::stream}) {
    INFO(name(how));
    whilst::program program = w.record();
    program.prepare({.how = how});
    check_no_leak(bytes_of(program), [&] {
      const index_type calls = fail_each_call(
          [&] {
            try {
              program.prepare({.how = how, .unroll = 3});
            } catch (const whilst::error&) {
              CHECK_THROWS_WITH(program.enqueue(nullptr), contains("Call prepare() first"));
              throw;
            }
            program.enqueue(nullptr);
            program.wait();
          },
          [&] {
            program.wait();
            w.zero();
            program.prepare({.how = how, .unroll = 3});
            CHECK(program.running_on() == how);
            run(program);
            w.check();
          });
      CHECK(calls > 20);
    });
  }
}

TEST_CASE("whichever CUDA call fails in the caller's capture, the program can be captured again", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  work w;
  whilst::program program = w.record();
  program.prepare({.how = executor::graph, .unroll = 3});
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  const auto capture = [&] { return captured(stream.get(), [&] { program.enqueue(stream.get()); }); };
  // A capture takes no memory of the program's own; graphs are the caller's.
  fail_each_call([&] { capture(); },
                 [&] {
                   const whilst::cuda::graph graph = capture();
                   w.zero();
                   launch_once(graph, stream.get());
                   w.check();
                   w.zero();
                   run(program);
                   w.check();
                 });
}

#endif

}  // namespace whilst_test
