// compiled by nvcc where CUDA is on
// A CUDA call fails while a program is timed or checked step by step: it runs as before, and the next report is right.

#include <string>

#include "tests/engine/faults/faults.hpp"
#include "tests/engine/nests.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::executor;
using whilst::program_recorder;

namespace {

/// Two trips with a step and a call in each: y = x once x has grown.
struct watched_work {
  static constexpr index_type n = 30, trips = 2;
  place where = place::gpu(0);
  whilst::buffer<control> c{where, 1};
  whilst::buffer<double> x{where, n}, y{where, n};
  whilst::cuda::stream stream = whilst::cuda::make_stream();

  whilst::program record() {
    program_recorder record(where);
    record.loop("two trips", c.data(), [&](auto& run) {
      run.step("x += 1", n, add_one{x.data()}, whilst::count_iteration{});
      run.call("y = x",
               [from = x.data(), to = y.data()](CUstream_st* stream) {
                 cudaMemcpyAsync(to, from, n * sizeof(double), cudaMemcpyDeviceToDevice, stream);
               },
               {.scratch_only = true});
    });
    record.parameter(&c.data()->settings, whilst::control_settings{.limit = trips});
    return std::move(record).finish();
  }
  void zero() {
    for (whilst::buffer<double>* of : {&x, &y}) of->upload(std::vector<double>(n, 0).data());
  }
  void check() const {
    for (const whilst::buffer<double>* of : {&x, &y}) CHECK((values(*of) == std::vector<double>(n, trips)));
    CHECK(value(c).iteration == trips);
  }
  void run_and_check(whilst::program& program) {
    zero();
    program.enqueue(stream.get());
    program.wait();
    check();
  }
};

}  // namespace

TEST_CASE("whichever CUDA call fails while a program is profiled, the next profile and the next run are right",
          "[profile][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  for (const executor how : {executor::graph, executor::stream}) {
    INFO(name(how));
    watched_work w;
    whilst::program program = w.record();
    program.prepare({.how = how});
    const index_type calls = fail_each_call([&] { program.profile(w.stream.get()); },
                                            [&] {
                                              program.wait();
                                              w.run_and_check(program);
                                              w.zero();
                                              const whilst::program_profile told = program.profile(w.stream.get());
                                              w.check();
                                              REQUIRE(told.rows.size() >= 2);
                                              for (std::size_t k : {0, 1}) CHECK(told.rows[k].runs == w.trips);
                                            });
    CHECK(calls > 15);
  }
}

TEST_CASE("whichever CUDA call fails in a strict check, the next one passes and the next run is right",
          "[strict][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  watched_work w;
  whilst::program program = w.record();
  program.prepare({.how = executor::graph});
  const auto check_strictly = [&] {
    return program.check_strictly({whilst::watched("x", w.x.data(), w.n), whilst::watched("y", w.y.data(), w.n)},
                                  w.stream.get());
  };
  const index_type calls = fail_each_call([&] { check_strictly(); },
                                          [&] {
                                            program.wait();
                                            w.run_and_check(program);
                                            w.zero();
                                            const whilst::strict_report report = check_strictly();
                                            INFO(report.message);
                                            CHECK(report.passed);
                                            w.check();
                                          });
  CHECK(calls > 50);
}

TEST_CASE("what a program tells of itself asks CUDA for nothing", "[profile][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  watched_work w;
  whilst::program program = w.record();
  program.prepare({.how = executor::graph});
  std::string told;
  const index_type calls = fail_each_call(
      [&] { told = program.memory().text() + program.explain() + program.dot() + program.json() + program.note(); },
      [] {});
  CHECK(calls == 0);
  CHECK_THAT(told, contains("partial sums and tickets"));
}

#endif

}  // namespace whilst_test
