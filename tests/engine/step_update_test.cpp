// compiled by nvcc where CUDA is on
// Recorded steps with other members: program::update.

#include <string>

#include "tests/catch.hpp"
#include "tests/engine/launch_journal.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::executor;
using whilst::no_finish;
using whilst::program_recorder;
using whilst::step_handle;
using whilst::sums;

namespace {

/// x = factor x + amount; the members are constant, as those of closures are.
struct grow {
  double* x;
  const double factor, amount;
  WHILST_HD void operator()(index_type i) const { x[i] = factor * x[i] + amount; }
};

/// Steps everywhere: at the top, in a loop's start and body, in a branch, in a loop within the loop, and beside a
/// finish that counts. Each has an x of its own.
struct everywhere {
  static constexpr index_type n = 300;
  static constexpr int places = 6;
  whilst::buffer<control> c;
  whilst::buffer<int> flag;
  std::vector<whilst::buffer<double>> x;
  std::vector<step_handle<grow, no_finish>> plain{5};
  step_handle<grow, whilst::count_iteration> counting;

  everywhere(place where, index_type outer, index_type inner) : c(where, 2), flag(where, 1) {
    set_limits(c, {outer, inner});
    for (int k = 0; k < places; ++k) x.emplace_back(where, n);
  }
  grow map(std::size_t k, double factor, double amount) const { return {x[k].data(), factor, amount}; }

  whilst::program record(place where) {
    program_recorder record(where);
    add_slow_step(record);
    const auto step = [&](auto& run, std::size_t k) { plain[k] = run.step("x = ...", n, map(k, 1, 1)); };
    step(record, 0);
    record.loop(
        "outer", c.data(), [&](auto& run) { step(run, 1); },
        [&](auto& run) {
          run.once("odd trip?", odd_trip{c.data(), flag.data()});
          step(run, 2);
          run.branch("odd", flag.data(), [&](auto& run) { step(run, 3); });
          run.loop("inner", c.data() + 1, [&](auto& run) { step(run, 4); });
          counting = run.step("x = ..., count", n, map(5, 1, 1), whilst::count_iteration{});
        });
    return std::move(record).finish();
  }
  void update(whilst::program& program, double factor, double amount) const {
    for (std::size_t k = 0; k < plain.size(); ++k) program.update(plain[k], map(k, factor, amount));
    program.update(counting, map(5, factor, amount));
  }
  void check(const std::vector<double>& expected) const {
    for (std::size_t k = 0; k < x.size(); ++k) {
      INFO("step " << k);
      CHECK((values(x[k]) == std::vector<double>(n, expected[k])));
    }
  }
};

struct store {
  double* target;
  double factor;
  WHILST_HD void operator()() const { *target = factor; }
};

struct constant {
  double value;
  WHILST_HD auto operator()(index_type) const { return sums{value}; }
};
struct store_total {
  double* target;
  double factor;
  WHILST_HD void operator()(const sums<double, 1>& total) const { *target = factor * total[0]; }
};

}  // namespace

TEST_CASE("updated steps run with their new members, wherever they were recorded", "[update][sanitizer]") {
  for (const way& w : ways()) {
    for (const int unroll : {1, 16}) {
      INFO(w.name << ", unroll " << unroll);
      everywhere steps(w.where, 3, 5);
      whilst::program program = steps.record(w.where);
      steps.update(program, 1, 2);  // not prepared yet
      program.prepare({.how = w.how, .unroll = unroll});
      run(program);
      steps.check({2, 2, 6, 4, 30, 6});
      steps.update(program, 1, 10);
      run(program);
      run(program);
      steps.check({22, 22, 66, 44, 330, 66});
      program.update(steps.plain[4], steps.map(4, 1, 0.5));
      program.prepare({.how = w.how, .unroll = 4});  // keeps what was updated
      run(program);
      steps.check({32, 32, 96, 64, 337.5, 96});
      CHECK(value(steps.c).why == reason::iteration_limit);
    }
  }
}

TEST_CASE("queued launches keep the members that their steps had", "[update]") {
  for (const way& w : ways()) {
    for (const int unroll : {1, 16}) {
      INFO(w.name << ", unroll " << unroll);
      everywhere steps(w.where, 1, 1);
      whilst::program program = steps.record(w.where);
      program.prepare({.how = w.how, .unroll = unroll});
      double expected = 0;
      for (const int bit : bits_in_turn()) {
        steps.update(program, 2, bit);
        program.enqueue(nullptr);
        expected = 2 * expected + bit;
      }
      program.wait();
      steps.check(std::vector<double>(everywhere::places, expected));
    }
  }
}

TEST_CASE("finishes are updated, with maps and without", "[update]") {
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<double> alone(w.where, 1), total(w.where, 1);
    program_recorder record(w.where);
    const auto once = record.once("alone", store{alone.data(), 1});
    const auto summed = record.step("sum", 700, constant{1}, store_total{total.data(), 1});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    program.update(once, store{alone.data(), 5});
    program.update(summed, constant{2});
    run(program);
    CHECK(value(alone) == 5);
    CHECK(value(total) == 1400);
    program.update(summed, constant{3}, store_total{total.data(), 10});
    run(program);
    CHECK(value(total) == 21000);
  }
}

TEST_CASE("a step with another count is prepared anew, by itself", "[update][sanitizer]") {
  for (const way& w : ways()) {
    for (const int unroll : {1, 16}) {
      INFO(w.name << ", unroll " << unroll);
      whilst::buffer<control> c(w.where, 1);
      whilst::buffer<double> total(w.where, 1), small(w.where, 1);
      set_limits(c, {3});
      step_handle<constant, store_total> handle;
      program_recorder record(w.where);
      record.loop("sums", c.data(), [&](auto& run) {
        handle = run.step("sum", 1000, constant{1}, store_total{total.data(), 1});
        run.step("another sum", 100, constant{1}, store_total{small.data(), 1});
        run.once("count", whilst::count_iteration{});
      });
      whilst::program program = std::move(record).finish();
      program.update(handle, 70, constant{2});
      program.prepare({.how = w.how, .unroll = unroll});
      run(program);
      CHECK(value(total) == 140);
      for (const index_type n : {1000, 300'000, 10, 40'000, 300'000}) {
        INFO("over " << n);
        program.enqueue(nullptr);
        program.update(handle, n, constant{0.5}, store_total{total.data(), 2});
        for (int repeat = 0; repeat < 2; ++repeat) {
          run(program);
          CHECK(value(total) == static_cast<double>(n));
          CHECK(value(small) == 100);
        }
        program.update(handle, constant{0.25});
        run(program);
        CHECK(value(total) == static_cast<double>(n) / 2);
      }
      CHECK_THAT(program.explain(), contains("step 'sum' over 300000"));
    }
  }
}

namespace {

struct team_total {
  static constexpr bool whole_block = true;
  double *x, value;
  int threads;
  int threads_wanted() const { return threads; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const double total = team.sum(team.rank() == team.size() - 1 ? value : 0.0);
    if (team.rank() == 0) x[i] = total;
  }
};

}  // namespace

TEST_CASE("a team's step is updated, with as many threads and with others", "[update]") {
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<double> x(w.where, 20);
    program_recorder record(w.where);
    const auto handle = record.team("teams", 20, team_total{x.data(), 1, 64});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    for (const int threads : {64, 256, 32}) {
      program.update(handle, team_total{x.data(), 1.0 * threads, threads});
      run(program);
      CHECK((values(x) == std::vector<double>(20, threads)));
    }
  }
}

namespace {

struct handed_number {
  double number;
};
struct hand_over {
  handed_number* handed;
  double factor;
  WHILST_HD void operator()(const sums<double, 1>& total, whilst::loop_state& loop) const {
    loop.updating = 1;
    if (loop.check()) return;
    handed->number = factor * total[0];
  }
};
struct take_over {
  double* x;
  double more;
  const handed_number* handed;
  WHILST_HD void operator()(index_type i) const { x[i] = handed->number + more; }
};

}  // namespace

TEST_CASE("a step and its sequel are updated together", "[update]") {
  for (const index_type n : {100, 3000, 20'000}) {  // a block; a cluster; a grid, where they are two steps
    for (const way& w : ways()) {
      INFO(w.name << ", over " << n);
      whilst::buffer<control> c(w.where, 1);
      set_limits(c, {2});
      whilst::buffer<handed_number> handed(w.where, 1);
      whilst::buffer<double> x(w.where, n);
      step_handle<constant, hand_over, take_over> handle;
      program_recorder record(w.where);
      record.loop("loop", c.data(), [&](auto& run) {
        handle = run.step("sum", n, constant{1}, hand_over{handed.data(), 1}, "x = ...",
                          take_over{x.data(), 0, handed.data()});
      });
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how, .unroll = 4});
      run(program);
      CHECK((values(x) == std::vector<double>(static_cast<std::size_t>(n), static_cast<double>(n))));
      program.update(handle, constant{2}, hand_over{handed.data(), 3}, take_over{x.data(), 5, handed.data()});
      run(program);
      CHECK((values(x) == std::vector<double>(static_cast<std::size_t>(n), 6.0 * static_cast<double>(n) + 5)));
    }
  }
}

TEST_CASE("a handle that is not this program's is refused", "[update]") {
  const place host = place::host();
  whilst::buffer<double> x(host, 1);
  program_recorder one(host), other(host);
  const auto mine = one.step("x = ...", 1, grow{x.data(), 1, 1});
  const auto foreign = other.step("x = ...", 1, grow{x.data(), 1, 1});
  whilst::program program = std::move(one).finish();
  CHECK_THROWS_WITH(program.update(foreign, grow{x.data(), 1, 2}), contains("the handle is of another program"));
  CHECK_THROWS_WITH(program.update(step_handle<grow, no_finish>{}, grow{x.data(), 1, 2}),
                    contains("updating a step: the handle refers to nothing. Use the one that recording"));
  whilst::program moved = std::move(program);
  moved.update(mine, grow{x.data(), 1, 7});
  moved.prepare({});
  run(moved);
  CHECK(value(x) == 7);
}

#if WHILST_WITH_CUDA

TEST_CASE("an update sets each copy of the step and records nothing", "[update][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  everywhere steps(place::gpu(0), 3, 5);
  whilst::program program = steps.record(place::gpu(0));
  program.prepare({.how = executor::graph, .unroll = 16});
  if (program.running_on() != executor::graph) return;
  const counted_calls calls;
  program.update(steps.plain[0], steps.map(0, 1, 3));
  CHECK(calls.of("cudaGraphExecKernelNodeSetParams") == 1);
  program.update(steps.plain[4], steps.map(4, 1, 3));
  CHECK(calls.of("cudaGraphExecKernelNodeSetParams") == 1 + 16);
  CHECK(calls.of("Capture") + calls.of("Instantiate") + calls.of("Synchronize") == 0);
}

TEST_CASE("a captured program keeps the members of its capture, also once its shapes have changed", "[update][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  whilst::buffer<double> total(place::gpu(0), 1);
  program_recorder record(place::gpu(0));
  const auto handle = record.step("sum", 300'000, constant{1}, store_total{total.data(), 1});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = executor::graph});
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  const whilst::cuda::graph_exec captured = capture_of(stream.get(), program);
  program.update(handle, constant{2});
  run(program);
  CHECK(value(total) == 600'000);
  program.update(handle, 1000, constant{2});
  run(program);
  CHECK(value(total) == 2000);
  for (int repeat = 0; repeat < 2; ++repeat) {
    REQUIRE(cudaGraphLaunch(captured.get(), stream.get()) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
    CHECK(value(total) == 300'000);
    run(program);
    CHECK(value(total) == 2000);
  }
}

TEST_CASE("an update that fails leaves a program that says so, and can be prepared again", "[update][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  whilst::buffer<double> x(place::gpu(0), 1);
  program_recorder record(place::gpu(0));
  const auto handle = record.step("x = ...", 1, grow{x.data(), 1, 1});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = executor::graph});
  whilst::cuda::observer() = [](std::string_view call) {
    return call.find("SetParams") == std::string_view::npos ? cudaSuccess : cudaErrorInvalidValue;
  };
  CHECK_THROWS_WITH(program.update(handle, grow{x.data(), 1, 3}), contains("updating step 'x = ...'"));
  whilst::cuda::observer() = nullptr;
  CHECK_THROWS_WITH(program.enqueue(nullptr), contains("Call prepare() first"));
  program.prepare({.how = executor::graph});
  run(program);
  CHECK(value(x) == 3);
}

#endif

}  // namespace whilst_test
