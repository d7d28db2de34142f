// compiled by nvcc where CUDA is on
// A CUDA call fails while values, pointers and steps of a program are exchanged: what is launched next has what was
// said last, all of it.

#include "kernels/engine/program_view.hpp"
#include "tests/engine/faults/faults.hpp"
#include "tests/engine/nests.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::executor;
using whilst::program_recorder;

namespace {

constexpr index_type n = 40;

/// Updates a program; one whose update failed has to be prepared again, and says so.
void update(whilst::program& program, const std::function<void()>& by) {
  try {
    by();
  } catch (const whilst::error&) {
    CHECK_FALSE(program.view().prepared);
    throw;
  }
}
void prepare_again(whilst::program& program, const whilst::run_settings& settings) {
  if (!program.view().prepared) program.prepare(settings);
}

struct fill {
  double* x;
  whilst::slot<const double> source;
  const double* amount;
  double factor;
  WHILST_HD void operator()(index_type i) const { x[i] = factor * source.get()[i] + *amount; }
};
struct increase {
  double *x, by;
  WHILST_HD void operator()(index_type i) const { x[i] += by; }
};

/// What changes from launch to launch: small integers, so that all is exact.
struct said {
  double source, amount, factor, by;
};

/// So much that a program which is left behind is seen in the free memory.
constexpr index_type arena_bytes = index_type{8} << 20;

/// x = factor source + amount; then three trips of x += by.
struct exchanging {
  place where = place::gpu(0);
  whilst::buffer<control> c{where, 1};
  whilst::buffer<double> x{where, n}, fives{where, n}, sevens{where, n};
  whilst::parameter<double> amount{};
  whilst::declared_slot<const double> source{};
  whilst::step_handle<fill, whilst::no_finish> outside{};
  whilst::step_handle<increase, whilst::count_iteration> inside{};

  exchanging() {
    fives.upload(std::vector<double>(n, 5).data());
    sevens.upload(std::vector<double>(n, 7).data());
  }
  whilst::program record() {
    program_recorder record(where);
    record.arena([](whilst::arena_layout& memory) { return memory.take<double>(arena_bytes / 8); });
    amount = record.parameter<double>("amount", 0);
    source = record.slot<const double>("source");
    outside = record.step("x = factor source + amount", n, map(0));
    record.loop("three trips", c.data(), [&](auto& run) {
      inside = run.step("x += by", n, increase{x.data(), 0}, whilst::count_iteration{});
    });
    record.parameter(&c.data()->settings, whilst::control_settings{.limit = 3});
    return std::move(record).finish();
  }
  fill map(double factor) const { return {x.data(), source, amount.get(), factor}; }
  void launch(whilst::program& program, const said& now) const {
    program.set(amount, now.amount);
    program.bind(source, now.source == 5 ? fives.data() : sevens.data());
    update(program, [&] { program.update(outside, map(now.factor)); });
    update(program, [&] { program.update(inside, increase{x.data(), now.by}); });
    run(program);
  }
  void check(const said& now) const {
    const double expected = now.factor * now.source + now.amount + 3 * now.by;
    CHECK((values(x) == std::vector<double>(n, expected)));
  }
};

constexpr std::size_t several_writers = 400;  // words: more than two kernels carry
struct many_numbers {
  double of[several_writers];
};
struct copy_out {
  const many_numbers* from;
  double* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from->of[i]; }
};

}  // namespace

TEST_CASE(
    "whichever CUDA call fails while a program takes its memory and goes on, the next one is right, and nothing leaks",
    "[update][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  exchanging e;
  const auto record_and_launch = [&](const said& now) {
    whilst::program program = e.record();
    program.prepare({.how = executor::graph});
    e.launch(program, now);
  };
  check_no_leak(arena_bytes, [&] {
    const index_type calls = fail_each_call(
        [&] {
          record_and_launch({5, 1, 2, 3});
        },
        [&] {
          record_and_launch({7, 11, 13, 17});
          e.check({7, 11, 13, 17});
        });
    CHECK(calls > 40);
  });
}

TEST_CASE("whichever CUDA call fails while values, pointers and members change, the next launch has its own",
          "[update][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  for (const executor how : {executor::graph, executor::stream}) {
    INFO(name(how));
    const whilst::run_settings settings{.how = how, .unroll = 2};
    exchanging e;
    whilst::program program = e.record();
    program.prepare(settings);
    const index_type calls = fail_each_call(
        [&] {
          e.launch(program, {5, 1, 2, 3});
        },
        [&] {
          program.wait();
          prepare_again(program, settings);
          e.launch(program, {7, 11, 13, 17});
          e.check({7, 11, 13, 17});
        });
    CHECK(calls >= 5);
    e.launch(program, {5, 1, 2, 3});
    e.check({5, 1, 2, 3});
  }
}

TEST_CASE("whichever CUDA call fails while a graph's first nodes get values, the next launch has all of its own",
          "[update][gpu][sanitizer]") {
  if (whilst::cuda::device_count() == 0) return;
  whilst::buffer<double> found(place::gpu(0), several_writers);
  program_recorder record(place::gpu(0));
  const auto numbers = record.parameter<many_numbers>("numbers", {});
  record.step("copy", several_writers, copy_out{numbers.get(), found.data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = executor::graph});
  const auto launch = [&](double number) {
    many_numbers all;
    std::fill_n(all.of, several_writers, number);
    program.set(numbers, all);
    run(program);
  };
  const index_type calls = fail_each_call([&] { launch(1); },
                                          [&] {
                                            program.wait();
                                            launch(2);
                                            CHECK((values(found) == std::vector<double>(several_writers, 2)));
                                          });
  CHECK(calls >= 3 + 2);  // as many writers; the launch, and waiting for it
}

TEST_CASE("whichever CUDA call fails while a step gets another shape, it gets it in the end, and nothing leaks",
          "[update][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  for (const executor how : {executor::graph, executor::stream}) {
    INFO(name(how));
    const whilst::run_settings settings{.how = how};
    whilst::buffer<double> total(place::gpu(0), 1);
    program_recorder record(place::gpu(0));
    const auto handle = record.team("count", bulk_blocks, bulk{1}, keep_bulk{total.data()});
    whilst::program program = std::move(record).finish();
    program.prepare(settings);
    const auto count_over = [&](index_type blocks) {
      update(program, [&] { program.update(handle, blocks, bulk{2}); });
      run(program);
    };
    check_no_leak(bytes_of(program), [&] {
      const index_type calls = fail_each_call(
          [&] {
            program.enqueue(nullptr);  // in flight while its memory goes
            count_over(bulk_blocks - 1000);
          },
          [&] {
            program.wait();
            prepare_again(program, settings);
            for (const index_type blocks : {bulk_blocks - 1000, bulk_blocks}) {
              count_over(blocks);
              CHECK(value(total) == 2.0 * static_cast<double>(blocks));
            }
          });
      CHECK(calls > 20);
    });
  }
}

#endif

}  // namespace whilst_test
