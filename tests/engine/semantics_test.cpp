// compiled by nvcc where CUDA is on
#include <memory>
#include <thread>

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/runs.hpp"
#include "tests/engine/toy.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/loop_endings.hpp"

namespace whilst_test {

using whilst::control_settings;
using whilst::executor;
using whilst::history_record;
using whilst::program_recorder;

namespace {

/// 50 times i modulo 5, by all threads of a block.
struct sum_of_even {
  [[maybe_unused]] static constexpr bool whole_block = true;
  double* target;
  [[maybe_unused]] int threads_wanted() const { return 64; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    double share = 0;
    for (int k = team.rank(); k < 100; k += team.size()) share += k % 2 == 0 ? static_cast<double>(i % 5) : 0.0;
    const double total = team.sum(share);
    if (team.rank() == 0) target[i] = total;
  }
};

/// Everything that a run of three_steps left behind equals the plain loop's, to the bit.
void check_three_steps(const three_steps_memory& memory, index_type trips, int verdict_in, reason why) {
  const auto expected = three_steps::expected(memory.x.size(), trips, verdict_in);
  const control c = value(memory.c);
  CHECK(c.iteration == trips);
  CHECK(c.why == why);
  CHECK(c.running == 0);
  CHECK((values(memory.x) == expected.x));
  CHECK((values(memory.y) == expected.y));
  CHECK((values(memory.z) == expected.z));
  const auto history = values(memory.history);
  REQUIRE(c.history_count == static_cast<index_type>(expected.history.size()));
  for (std::size_t k = 0; k < expected.history.size(); ++k) {
    CHECK(history[k].iteration == expected.history[k].iteration);
    CHECK(history[k].residual_norm == expected.history[k].residual_norm);
  }
}

}  // namespace

TEST_CASE("a loop stops at every k, wherever the verdict is, for every unroll", "[semantics][sanitizer]") {
  for (const way& w : ways()) {
    for (const index_type n : {1, 1000, 5000}) {
      for (const int verdict_in : {0, 1, 2}) {
        three_steps_memory memory(w.where, n);
        program_recorder rec(w.where);
        memory.method(verdict_in)(rec);
        rec.parameter(&memory.c.data()->settings, memory.settings());
        const auto stop_at = rec.parameter(memory.stop_at.data(), index_type{0});
        whilst::program program = std::move(rec).finish();
        for (const int unroll : {1, 3, 4, 16}) {
          if (under_sanitizers && n == 5000 && unroll != 3) continue;
          program.prepare({.how = w.how, .unroll = unroll});
          for (index_type k = 1; k <= 33; ++k) {
            INFO(w.name << ", n " << n << ", verdict in step " << verdict_in << ", unroll " << unroll << ", k " << k);
            memory.zero();
            program.set(stop_at, k);
            run(program);
            check_three_steps(memory, k, verdict_in, reason::completed);
          }
        }
      }
    }
  }
}

TEST_CASE("a loop ends at its limit, zero included, and can be launched again", "[semantics][sanitizer]") {
  for (const way& w : ways()) {
    three_steps_memory memory(w.where, 300);
    program_recorder rec(w.where);
    memory.method(2)(rec);
    const auto settings = rec.parameter(&memory.c.data()->settings, memory.settings());
    rec.parameter(memory.stop_at.data(), index_type{-1});
    whilst::program program = std::move(rec).finish();
    program.prepare({.how = w.how, .unroll = 4});
    for (const index_type limit : {0, 1, 7, 0, 8, 8}) {
      INFO(w.name << ", limit " << limit);
      memory.zero();
      program.set(settings, memory.settings(limit));
      run(program);
      check_three_steps(memory, limit, 2, reason::iteration_limit);
    }
  }
}

TEST_CASE("a body whose finishes never count still ends", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_endless(where, make_run); });
}

TEST_CASE("a body without a finish is counted", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_no_finish_in_body(where, make_run); });
}

TEST_CASE("a verdict in the start means no trip", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_verdict_in_start(where, make_run); });
}

TEST_CASE("four loops in one another make exact trips, zero, one and many", "[semantics][sanitizer]") {
  for_each_run([](place where, const auto& make_run) { check_four_loops(where, make_run); });
}

namespace {

/// x += 1 as work that somebody else enqueues.
void enqueue_add_one([[maybe_unused]] CUstream_st* stream, double* x) {
#if defined(__CUDACC__)
  if (stream) {
    whilst::map_step<add_one, whilst::no_finish> step("x += 1", 1, add_one{x}, {});
    step.launch(stream, {.blocks = 1, .threads = 32}, {}, false);
    return;
  }
#endif
  *x += 1;
}

}  // namespace

TEST_CASE("a call after a verdict is held back, unless it writes scratch only", "[semantics]") {
  for (const way& w : ways()) {
    for (const bool scratch_only : {false, true}) {
      INFO(w.name << (scratch_only ? ", scratch only" : ""));
      whilst::buffer<control> c(w.where, 1);
      whilst::buffer<double> before(w.where, 1), after(w.where, 1);
      program_recorder rec(w.where);
      rec.loop("calls", c.data(), [&](auto& run) {
        run.call("before", [x = before.data()](CUstream_st* stream) { enqueue_add_one(stream, x); });
        run.once("verdict", stop_at{c.data(), 5});
        run.call("after", [x = after.data()](CUstream_st* stream) { enqueue_add_one(stream, x); },
                 {.scratch_only = scratch_only});
        run.call("after", [x = after.data()](CUstream_st* stream) { enqueue_add_one(stream, x); },
                 {.scratch_only = scratch_only});
      });
      rec.parameter(&c.data()->settings, control_settings{.limit = 100});
      whilst::program program = std::move(rec).finish();
      program.prepare({.how = w.how, .unroll = 4});
      run(program);
      CHECK(value(c).iteration == 5);
      CHECK(value(before) == 5);
      if (!scratch_only) CHECK(value(after) == 8);
    }
  }
}

TEST_CASE("a branch runs when its flag says so, and not after a verdict", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_branches(where, make_run); });
}

TEST_CASE("a verdict on the outer loop from within the inner one ends both", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_outer_stopped_within(where, make_run); });
}

TEST_CASE("finishes in a loop or a branch further in do not count a loop's trips", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_finishes_further_in(where, make_run); });
}

TEST_CASE("a branch may clear the flag that let it run", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_flag_cleared_within(where, make_run); });
}

TEST_CASE("a loop is not late because the one before it was", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_one_after_another(where, make_run); });
}

TEST_CASE("a loop in a branch, a verdict in a branch", "[semantics]") {
  for_each_run([](place where, const auto& make_run) { check_loop_in_branch(where, make_run); });
}

TEST_CASE("steps of teams: three phases, sums and a verdict", "[semantics][sanitizer]") {
  for_each_run([](place where, const auto& make_run) { check_team_steps(where, make_run); });
}

namespace {

/// k sums of small whole numbers: exact in any order, in float too. With `lanes` threads an index, of which the first
/// gives the share.
template <class T, int k>
struct shares {
  int lanes;
  WHILST_HD int lanes_wanted() const { return lanes; }
  WHILST_HD static T of(index_type i, int j) { return static_cast<T>((i + j) % 5 + j); }
  template <class Team>
  WHILST_HD whilst::sums<T, k> operator()(index_type i, const Team&) const {
    whilst::sums<T, k> share{};
    for (int j = 0; j < k; ++j) share.value[j] = of(i, j);
    return share;
  }
};
template <class T, int k>
struct keep_totals {
  T* totals;
  WHILST_HD void operator()(const whilst::sums<T, k>& total) const {
    for (int j = 0; j < k; ++j) totals[j] = total[j];
  }
};

template <class T, int k>
void check_totals(const way& w, index_type n, int lanes) {
  whilst::buffer<T> totals(w.where, k);
  program_recorder rec(w.where);
  rec.step("totals", n, shares<T, k>{lanes}, keep_totals<T, k>{totals.data()});
  whilst::program program = std::move(rec).finish();
  program.prepare({.how = w.how});
  std::vector<T> expected(k);
  for (int j = 0; j < k; ++j)
    for (index_type i = 0; i < n; ++i) expected[static_cast<std::size_t>(j)] += shares<T, k>::of(i, j);
  for (int time = 0; time < 2; ++time) {
    run(program);
    INFO(w.name << ", n = " << n << ", lanes " << lanes << ", " << k << " sums of " << sizeof(T) << " bytes");
    CHECK(values(totals) == expected);
  }
}

}  // namespace

TEST_CASE("totals are those of all indexes, wherever blocks meet", "[semantics][sanitizer][race]") {
  // On a GPU: one warp, one block, a cluster of 8 and of 16 blocks, some of them without an index, a grid; and the
  // edges.
  for (const way& w : ways())
    for (const int lanes : {1, 8, 32})
      for (const index_type threads : {1, 32, 33, 512, 513, 800, 2048, 2049, 4097, 8192, 8193, 40000}) {
        const index_type n = (threads + lanes - 1) / lanes;
        check_totals<float, 1>(w, n, lanes);
        check_totals<float, 4>(w, n, lanes);
        check_totals<double, 3>(w, n, lanes);
        check_totals<double, 7>(w, n, lanes);
      }
}

TEST_CASE("totals of any number of sums", "[semantics]") {
  for (const way& w : ways())
    for (const index_type n : {31, 512, 4097, 40000}) {
      check_totals<double, 5>(w, n, 1);
      check_totals<float, 6>(w, n, 1);
      check_totals<double, 32>(w, n, 1);
      check_totals<double, 33>(w, n, 1);
    }
}

TEST_CASE("a call in the start of a loop runs once a run of the loop", "[semantics]") {
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<control> c(w.where, 2);
    whilst::buffer<double> called(w.where, 1), x(w.where, 5);
    set_limits(c, {4, 3});
    program_recorder rec(w.where);
    control* const cs = c.data();
    rec.loop("outer", cs, [&](auto& run) {
      run.once("verdict", stop_at{cs, 3});
      run.loop(
          "inner", cs + 1,
          [&](auto& run) { run.call("in the start", [x = called.data()](CUstream_st* s) { enqueue_add_one(s, x); }); },
          [&](auto& run) { run.step("x += 1", 5, add_one{x.data()}); });
    });
    whilst::program program = std::move(rec).finish();
    program.prepare({.how = w.how});
    run(program);
    // The verdict of the third trip comes before its inner loop.
    CHECK(value(called) == 2);
    CHECK((values(x) == std::vector<double>(5, 6.0)));
  }
}

namespace {

struct stop_other {
  control* other;
  index_type after;
  WHILST_HD void operator()() const {
    if (other->iteration == after) other->stop(reason::completed);
  }
};

}  // namespace

TEST_CASE("a call after a loop that may have stopped the loop around it is held back", "[semantics]") {
  for (const way& w : ways()) {
    for (const char* verdict_in : {"start", "body", "branch"}) {
      INFO(w.name << ", verdict in the inner loop's " << verdict_in);
      whilst::buffer<control> c(w.where, 2);
      whilst::buffer<double> called(w.where, 1);
      whilst::buffer<int> flag(w.where, 1);
      const int yes = 1;
      flag.upload(&yes);
      set_limits(c, {5, 2});
      program_recorder rec(w.where);
      control* const cs = c.data();
      const stop_other verdict{cs, 2};
      rec.loop("outer", cs, [&](auto& run) {
        run.loop(
            "inner", cs + 1,
            [&](auto& run) {
              if (verdict_in == std::string("start")) run.once("verdict", verdict);
            },
            [&](auto& run) {
              if (verdict_in == std::string("body")) run.once("verdict", verdict);
              if (verdict_in == std::string("branch"))
                run.branch("always", flag.data(), [&](auto& run) { run.once("verdict", verdict); });
              run.once("count", whilst::count_iteration{});
            });
        run.call("after", [x = called.data()](CUstream_st* s) { enqueue_add_one(s, x); });
        run.once("count", whilst::count_iteration{});
      });
      whilst::program program = std::move(rec).finish();
      program.prepare({.how = w.how});
      run(program);
      CHECK(value(c).why == reason::completed);
      CHECK(value(c).iteration == 2);
      CHECK(value(called) == 2);
    }
  }
}

TEST_CASE("a block a problem, more problems than a grid has blocks", "[semantics]") {
  for (const way& w : ways()) {
    if (w.how == executor::graph) continue;
    INFO(w.name);
    constexpr index_type problems = 70'000;
    whilst::buffer<double> sums(w.where, problems);
    program_recorder rec(w.where);
    rec.team("sum", problems, sum_of_even{sums.data()});
    whilst::program program = std::move(rec).finish();
    program.prepare({.how = w.how});
    run(program);
    const auto found = values(sums);
    bool all_right = true;
    for (index_type i = 0; i < problems; ++i)
      all_right = all_right && found[static_cast<std::size_t>(i)] == 50.0 * static_cast<double>(i % 5);
    CHECK(all_right);
  }
}

TEST_CASE("misuse of programs is refused with the cure", "[semantics]") {
  program_recorder rec(place::host());
  whilst::program program = std::move(rec).finish();
  CHECK_THROWS_WITH(program.enqueue(nullptr), contains("Call prepare() first"));
  CHECK_THROWS_WITH(program.prepare({.how = executor::graph}), contains("place::gpu"));
}

TEST_CASE("the history keeps every other record when it is full", "[semantics]") {
  for (const way& w : ways()) {
    INFO(w.name);
    three_steps_memory memory(w.where, 10, /*capacity=*/8);
    program_recorder rec(w.where);
    memory.method(0)(rec);
    rec.parameter(&memory.c.data()->settings, memory.settings());
    rec.parameter(memory.stop_at.data(), index_type{30});
    whilst::program program = std::move(rec).finish();
    program.prepare({.how = w.how, .unroll = 4});
    run(program);
    const auto expected = three_steps::expected(10, 30, 0);
    const control c = value(memory.c);
    const auto history = values(memory.history);
    REQUIRE(c.history_count >= 4);
    index_type previous = 0;
    for (index_type k = 0; k < c.history_count; ++k) {
      const history_record& record = history[static_cast<std::size_t>(k)];
      CHECK(record.residual_norm == expected.history[static_cast<std::size_t>(record.iteration - 1)].residual_norm);
      if (k > 0) CHECK(record.iteration - previous == c.history_stride);
      previous = record.iteration;
    }
    CHECK(30 - previous < c.history_stride);
  }
}

TEST_CASE("cancel and deadline stop every level", "[semantics]") {
  for (const way& w : ways()) {
    for (const bool by_deadline : {true, false}) {
      // On the host and under stream, enqueue returns when the run is done: cancel from another thread.
      constexpr index_type endless = 1'000'000'000'000'000;
      INFO(w.name << (by_deadline ? ", deadline" : ", cancel"));
      whilst::buffer<control> c(w.where, 2);
      program_recorder rec(w.where);
      control* const cs = c.data();
      rec.loop("outer", cs, [&](auto& run) {
        run.loop("inner", cs + 1, [&](auto& run) { run.once("count", whilst::count_iteration{}); });
        run.once("count", whilst::count_iteration{});
      });
      control_settings outer{.limit = 3};
      outer.launch = 7;
      if (by_deadline) outer.deadline_nanoseconds = 20'000'000;
      rec.parameter(&cs[0].settings, outer);
      rec.parameter(&cs[1].settings, control_settings{.limit = endless});
      whilst::program program = std::move(rec).finish();
      program.prepare({.how = w.how});
      std::thread running([&] { run(program); });
      if (!by_deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        if (w.where.on_host()) {
          cs->outside.cancel_request = 7;
        } else {
#if WHILST_WITH_CUDA
          const whilst::cuda::stream beside = whilst::cuda::make_stream();
          const std::uint64_t launch = 7;
          cudaMemcpyAsync(const_cast<std::uint64_t*>(&cs->outside.cancel_request), &launch, sizeof launch,
                          cudaMemcpyHostToDevice, beside.get());
          cudaStreamSynchronize(beside.get());
#endif
        }
      }
      running.join();
      const reason expected = by_deadline ? reason::deadline : reason::cancelled;
      const auto controls = values(c);
      CHECK(controls[0].why == expected);
      CHECK(controls[1].why == expected);
      CHECK(controls[1].iteration < endless);
      const auto endings = whilst::loop_endings(program);
      REQUIRE(endings.size() == 2);
      CHECK(endings[0].loop == "outer");
      CHECK(endings[1].loop == "outer > inner");
      for (int k = 0; k < 2; ++k) {
        CHECK(endings[k].ran);
        CHECK(endings[k].why == expected);
        CHECK(endings[k].iterations == controls[k].iteration);
      }
    }
  }
}

TEST_CASE("one text runs resident and in batch", "[semantics][sanitizer]") {
  std::vector<place> places{place::host()};
  if (whilst::cuda::device_count() > 0) places.push_back(place::gpu(0));
  for (const place where : places) {
    for (const index_type n : {1, 100, 3000}) {
      for (const int verdict_in : {0, 1, 2}) {
        INFO((where.on_host() ? "host" : "GPU") << ", n " << n << ", verdict in step " << verdict_in);
        three_steps_memory memory(where, n);
        program_recorder rec(where);
        record_as(form::by_block, rec, memory.method(verdict_in), whilst::threads_for_problem(n));
        rec.parameter(&memory.c.data()->settings, memory.settings());
        rec.parameter(memory.stop_at.data(), index_type{19});
        whilst::program program = std::move(rec).finish();
        program.prepare({.how = where.on_host() ? executor::host : executor::stream});
        run(program);
        check_three_steps(memory, 19, verdict_in, reason::completed);
      }
    }
  }
}

#if WHILST_WITH_CUDA

TEST_CASE("two programs on two streams at once", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const place gpu = place::gpu(0);
  struct one {
    three_steps_memory memory;
    whilst::program program;
    whilst::cuda::stream stream;
  };
  std::vector<one> both;
  for (const index_type k : {9, 30}) {
    three_steps_memory memory(gpu, 4000);
    program_recorder rec(gpu);
    memory.method(1)(rec);
    rec.parameter(&memory.c.data()->settings, memory.settings());
    rec.parameter(memory.stop_at.data(), k);
    both.push_back({std::move(memory), std::move(rec).finish(), whilst::cuda::make_stream()});
    both.back().program.prepare({.how = executor::graph, .unroll = 4});
  }
  for (int repeat = 0; repeat < 20; ++repeat) {
    for (one& o : both) o.memory.zero();
    for (one& o : both) o.program.enqueue(o.stream.get());
    for (one& o : both) o.program.wait();
    check_three_steps(both[0].memory, 9, 1, reason::completed);
    check_three_steps(both[1].memory, 30, 1, reason::completed);
  }
}

TEST_CASE("random delays in blocks change nothing, with programmatic launch on and off", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const place gpu = place::gpu(0);
  for (const index_type n : {64, 4096, 16384, 65536, 1048576}) {
    three_steps_memory memory(gpu, n);
    program_recorder rec(gpu);
    memory.method(1)(rec);
    rec.parameter(&memory.c.data()->settings, memory.settings());
    const auto stop_at = rec.parameter(memory.stop_at.data(), index_type{0});
    whilst::program program = std::move(rec).finish();
    for (const bool programmatic : {true, false}) {
      for (const unsigned seed : {0u, 1u, 12345u}) {
        program.prepare({.how = executor::graph, .unroll = 4, .programmatic_launch = programmatic, .delay_seed = seed});
        for (const index_type k : {6, 13}) {
          INFO("n " << n << ", programmatic " << programmatic << ", seed " << seed << ", k " << k);
          memory.zero();
          program.set(stop_at, k);
          run(program);
          check_three_steps(memory, k, 1, reason::completed);
        }
      }
    }
  }
}

TEST_CASE("a program becomes part of its caller's capture, nested in the caller's order", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const place gpu = place::gpu(0);
  three_steps_memory memory(gpu, 2000);
  program_recorder rec(gpu);
  memory.method(2)(rec);
  rec.parameter(&memory.c.data()->settings, memory.settings());
  const auto stop_at = rec.parameter(memory.stop_at.data(), index_type{5});
  whilst::program program = std::move(rec).finish();
  program.prepare({.how = executor::graph, .unroll = 3});

  whilst::buffer<double> before(gpu, 1), after(gpu, 1);
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  enqueue_add_one(stream.get(), before.data());
  program.enqueue(stream.get());
  enqueue_add_one(stream.get(), after.data());
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
  const whilst::cuda::graph owned(graph);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  const whilst::cuda::graph_exec owned_exec(exec);
  program.set(stop_at, index_type{8});  // the capture keeps the parameters that it was made with
  for (int launch = 1; launch <= 3; ++launch) {
    memory.zero();
    REQUIRE(cudaGraphLaunch(exec, stream.get()) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
    check_three_steps(memory, 5, 2, reason::completed);
    CHECK(value(before) == launch);
    CHECK(value(after) == launch);
  }
  memory.zero();
  run(program);
  check_three_steps(memory, 8, 2, reason::completed);
}

TEST_CASE("four loops in one another make exact trips in their caller's graph", "[semantics][gpu][sanitizer]") {
  if (whilst::cuda::device_count() == 0) return;
  const place gpu = place::gpu(0);
  whilst::buffer<control> c(gpu, 4);
  whilst::buffer<index_type> trips(gpu, 4);
  whilst::buffer<double> before(gpu, 1), after(gpu, 1);
  program_recorder rec(gpu);
  four_loops{c.data(), trips.data()}(rec);
  whilst::program program = std::move(rec).finish();
  program.prepare({.how = executor::graph});
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  enqueue_add_one(stream.get(), before.data());
  program.enqueue(stream.get());
  enqueue_add_one(stream.get(), after.data());
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
  const whilst::cuda::graph owned(graph);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  const whilst::cuda::graph_exec owned_exec(exec);
  int launches = 0;
  for (const auto& limits : std::vector<std::vector<index_type>>{
           {1, 1, 1, 1}, {2, 3, 2, 5}, {3, 0, 2, 2}, {0, 3, 3, 3}, {3, 1, 2, 0}, {2, 3, 2, 5}}) {
    INFO("limits " << limits[0] << limits[1] << limits[2] << limits[3]);
    trips.upload(std::vector<index_type>(4, 0).data());
    set_limits(c, limits);
    REQUIRE(cudaGraphLaunch(exec, stream.get()) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
    ++launches;
    CHECK((values(trips) == four_loops::expected(limits)));
    CHECK(value(before) == launches);
    CHECK(value(after) == launches);
  }
}

#endif

}  // namespace whilst_test
