// compiled by nvcc where CUDA is on
// A CUDA call fails while choices, bodies side by side and calls are recorded, captured or run, and while a loop that
// yielded goes on.

#include <memory>

#include "tests/engine/faults/faults.hpp"
#include "tests/engine/nests.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::executor;
using whilst::program_recorder;

namespace {

/// Trip t, counted from 1, wants body (t - 1) mod 3.
struct choose_in_turn {
  const control* c;
  int* choice;
  WHILST_HD void operator()() const { *choice = static_cast<int>(c->iteration % 3); }
};

/// Six trips with a select, in it a loop and a branch with an else, and bodies side by side, in them a call.
struct crossroads {
  static constexpr index_type n = 50, trips = 6;
  place where = place::gpu(0);
  whilst::buffer<control> c{where, 2};
  whilst::buffer<int> flag{where, 1}, choice{where, 1};
  whilst::buffer<double> counts{where, 7 * n}, counted{where, 1};

  double* count(index_type k) const { return counts.data() + k * n; }

  whilst::program record() {
    program_recorder record(where);
    const auto add = [&](auto& run, index_type k) { run.step("+= 1", n, add_one{count(k)}); };
    record.loop("six trips", c.data(), [&](auto& run) {
      run.once("odd trip?", odd_trip{c.data(), flag.data()});
      run.once("choose", choose_in_turn{c.data(), choice.data()});
      run.select(
          "one of three", choice.data(), [&](auto& run) { add(run, 0); },
          [&](auto& run) { run.loop("two trips", c.data() + 1, [&](auto& run) { add(run, 1); }); },
          [&](auto& run) {
            run.branch(
                "odd", flag.data(), [&](auto& run) { add(run, 2); }, [&](auto& run) { add(run, 3); });
          });
      run.parallel(
          "side by side", [&](auto& run) { add(run, 4); },
          [&](auto& run) {
            add(run, 5);
            run.call("copy", [from = count(5), to = count(6)](CUstream_st* stream) {
              cudaMemcpyAsync(to, from, n * sizeof(double), cudaMemcpyDeviceToDevice, stream);
            });
          });
      run.once("verdict", stop_at{c.data(), trips});
    });
    record.team("count", bulk_blocks, bulk{1}, keep_bulk{counted.data()});
    return std::move(record).finish();
  }
  void zero() {
    set_limits(c, {100, 2});
    counts.upload(std::vector<double>(7 * n, 0).data());
  }
  void check() const {
    // Each body twice: the third in trips 3 and 6, one odd, one even.
    std::vector<double> expected;
    for (const double of_one : {2, 2 * 2, 1, 1, 6, 6, 6}) expected.insert(expected.end(), n, of_one);
    CHECK((values(counts) == expected));
    CHECK(value(c).why == reason::completed);
    CHECK(value(counted) == bulk_blocks);
  }
};

const std::vector<whilst::run_settings> ways_to_choose{
    {.how = executor::graph}, {.how = executor::graph, .emulate_select = true}, {.how = executor::stream}};

}  // namespace

TEST_CASE("whichever CUDA call fails, choices and bodies side by side can be prepared and run again, and nothing leaks",
          "[choices][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  crossroads w;
  for (const whilst::run_settings& settings : ways_to_choose) {
    INFO(name(settings.how) << ", emulated " << settings.emulate_select);
    auto program = std::make_unique<whilst::program>(w.record());
    program->prepare(settings);
    check_no_leak(bytes_of(*program), [&] {
      const index_type calls = fail_each_call(
          [&] {
            program->prepare(settings);
            program->enqueue(nullptr);
            program->wait();
          },
          [&] {
            program->wait();
            w.zero();
            program->prepare(settings);
            run(*program);
            w.check();
            program = std::make_unique<whilst::program>(w.record());  // the next one prepares for the first time
          });
      CHECK(calls > 40);
    });
  }
}

TEST_CASE("whichever CUDA call fails while choices and bodies side by side are captured, they can be captured again",
          "[choices][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  crossroads w;
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  for (const bool emulate : {false, true}) {
    INFO("emulated " << emulate);
    whilst::program program = w.record();
    program.prepare({.how = executor::graph, .emulate_select = emulate});
    const auto capture = [&] { return captured(stream.get(), [&] { program.enqueue(stream.get()); }); };
    fail_each_call([&] { capture(); },
                   [&] {
                     w.zero();
                     launch_once(capture(), stream.get());
                     w.check();
                     w.zero();
                     run(program);
                     w.check();
                   });
  }
}

namespace {

/// Appends the trip's number to a list, which is full sooner than the loop ends: then the loop yields.
struct append {
  double* list;
  index_type* count;
  const index_type* capacity;
  WHILST_HD void operator()(whilst::loop_state& loop) const {
    if (*count == *capacity) {
      loop.yield(1);
      return;
    }
    list[*count] = static_cast<double>(*count + 1);
    *count += 1;
    whilst::count_iteration{}(loop);
  }
};

struct appending {
  static constexpr index_type all = 8;
  place where = place::gpu(0);
  whilst::buffer<control> c{where, 1};
  whilst::buffer<double> list{where, all}, counted{where, 1};
  whilst::buffer<index_type> count{where, 1}, capacity{where, 1};

  whilst::program record() {
    program_recorder record(where);
    record.loop("append", c.data(), [&](auto& run) {
      run.once("append", append{list.data(), count.data(), capacity.data()});
    });
    record.parameter(&c.data()->settings, whilst::control_settings{.limit = all});
    return std::move(record).finish();
  }
  void set(whilst::buffer<index_type>& number, index_type to) { number.upload(&to); }
  /// Leaves a list that is full, of which the loop has been told that there is more room.
  void run_until_full(whilst::program& program) {
    list.upload(std::vector<double>(all, 0).data());
    set(count, 0);
    set(capacity, 3);
    run(program);
    REQUIRE(program.yielded());
    set(capacity, all);
  }
  void check() const {
    CHECK(value(c).why == reason::iteration_limit);
    CHECK((values(list) == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  }
};

}  // namespace

TEST_CASE("whichever CUDA call fails when a loop that yielded goes on, it goes on in the end", "[resume][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  for (const executor how : {executor::graph, executor::stream}) {
    for (const bool first_time : {true, false}) {
      INFO(name(how) << ", its first resume " << first_time);
      appending w;
      whilst::program program = w.record();
      program.prepare({.how = how});
      w.run_until_full(program);
      const index_type calls = fail_each_call(
          [&] {
            program.resume(nullptr);
            program.wait();
          },
          [&] {
            program.wait();
            const bool still_yielded = program.yielded();
            if (still_yielded) {
              program.resume(nullptr);
              program.wait();
            }
            // A graph is launched whole or not at all; under stream the rest may have been given up half-way.
            if (how == executor::graph || still_yielded) w.check();
            if (first_time) program.prepare({.how = how});
            w.run_until_full(program);
          });
      CHECK(calls > 5);
    }
  }
}

#endif

}  // namespace whilst_test
