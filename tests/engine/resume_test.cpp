// compiled by nvcc where CUDA is on
// A loop that yields to the host, which repairs what it yielded for, and goes on.

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"

namespace whilst_test {

using whilst::control_settings;
using whilst::program_recorder;

namespace {

constexpr int needs_room = 17;

/// Each trip appends a value to a list of limited capacity; a full list makes the loop yield before anything is lost.
struct append {
  double* list;
  index_type* count;
  const index_type* capacity;
  WHILST_HD void operator()(whilst::loop_state& loop) const {
    if (*count == *capacity) {
      loop.yield(needs_room);
      return;
    }
    loop.updating = 1;
    if (loop.check(static_cast<double>(*count + 1))) return;
    list[(*count)++] = static_cast<double>(loop.iteration);
  }
};

struct lists {
  whilst::buffer<control> c;
  whilst::buffer<double> list, before, started, trips, after;
  whilst::buffer<index_type> count, capacity;
  whilst::buffer<whilst::history_record> history;
  index_type n;

  lists(place where, index_type size)
      : c(where, 2),
        list(where, 100),
        before(where, size),
        started(where, size),
        trips(where, size),
        after(where, size),
        count(where, 1),
        capacity(where, 1),
        history(where, 64),
        n(size) {}

  whilst::program record(place where) const {
    program_recorder run(where);
    run.step("before", n, add_one{before.data()});
    run.loop("a loop before", c.data() + 1, [&](auto& run) { run.once("count", whilst::count_iteration{}); });
    run.loop(
        "appending", c.data(), [&](auto& run) { run.step("start", n, add_one{started.data()}); },
        [&](auto& run) {
          run.once("append", append{list.data(), count.data(), capacity.data()});
          run.step("a trip", n, add_one{trips.data()});
        });
    run.step("after", n, add_one{after.data()});
    run.parameter(
        &c.data()->settings,
        control_settings{.limit = 40, .history = history.data(), .history_capacity = history.size(), .dtol = 30});
    run.parameter(&(c.data() + 1)->settings, control_settings{.limit = 2});
    return std::move(run).finish();
  }
};

double at(const whilst::buffer<double>& x) {
  const std::vector<double> all = values(x);
  CHECK((all == std::vector<double>(all.size(), all.front())));
  return all.front();
}

}  // namespace

TEST_CASE("a loop that yields goes on where it was", "[resume][semantics][sanitizer]") {
  for (const way& w : ways()) {
    for (const int unroll : {1, 4, 16}) {
      for (const index_type n : {1, 3000}) {
        INFO(w.name << ", unroll " << unroll << ", n " << n);
        lists m(w.where, n);
        whilst::program program = m.record(w.where);
        program.prepare({.how = w.how, .unroll = unroll});
        for (const index_type capacity : {10, 11, 100}) {
          m.capacity.upload(&capacity);
          if (capacity == 10) {
            run(program);
          } else {
            REQUIRE(program.yielded());
            program.resume(nullptr);
            program.wait();
          }
          const control c = value(m.c);
          const index_type done = std::min<index_type>(capacity, 40);
          CHECK(c.why == (capacity < 40 ? reason::yielded : reason::iteration_limit));
          if (capacity < 40) CHECK(c.yield_code == needs_room);
          CHECK(c.iteration == done);
          CHECK(c.history_count == done);
          CHECK(value(m.count) == std::min<index_type>(capacity, 39));
        }
        CHECK_FALSE(program.yielded());
        // What comes before the loop, and its start, once; what comes after it after each part.
        CHECK(at(m.before) == 1);
        CHECK(at(m.started) == 1);
        CHECK(at(m.trips) == 39);
        CHECK(at(m.after) == 3);
        const std::vector<double> list = values(m.list);
        for (std::size_t k = 0; k < 39; ++k) CHECK(list[k] == static_cast<double>(k + 1));
        const auto history = values(m.history);
        for (std::size_t k = 0; k < 40; ++k) CHECK(history[k].iteration == static_cast<index_type>(k + 1));

        // From the start again, which is no going on.
        const index_type zero = 0;
        m.count.upload(&zero);
        run(program);
        CHECK(value(m.c).why == reason::iteration_limit);
        CHECK(at(m.before) == 2);
        CHECK(at(m.started) == 2);
      }
    }
  }
}

TEST_CASE("resuming what has not yielded is refused", "[resume]") {
  for (const way& w : ways()) {
    INFO(w.name);
    lists m(w.where, 3);
    whilst::program program = m.record(w.where);
    const auto refused = [&](const std::string& why) {
      std::string message;
      try {
        program.resume(nullptr);
      } catch (const whilst::error& refusal) {
        message = refusal.what();
      }
      return message.find(why) != std::string::npos;
    };
    CHECK(refused("not prepared"));
    program.prepare({.how = w.how});
    CHECK(refused("has yielded"));  // never run
    const index_type capacity = 100;
    m.capacity.upload(&capacity);
    run(program);
    CHECK_FALSE(program.yielded());
    CHECK(refused("Ask yielded()"));
  }
}

namespace {

struct pass_on {
  const control* inner;
  index_type* rounds;
  WHILST_HD void operator()(whilst::loop_state& loop) const {
    if (inner->why == reason::yielded) {
      loop.yield(inner->yield_code);
      return;
    }
    *rounds += 1;
    whilst::count_iteration{}(loop);
  }
};

}  // namespace

TEST_CASE("a loop passes on what an inner one yielded for", "[resume]") {
  for (const way& w : ways()) {
    INFO(w.name);
    lists m(w.where, 1);
    whilst::buffer<index_type> rounds(w.where, 1);
    program_recorder recorded(w.where);
    recorded.loop("outer", m.c.data() + 1, [&](auto& run) {
      run.loop("inner", m.c.data(), [&](auto& run) {
        run.once("append", append{m.list.data(), m.count.data(), m.capacity.data()});
      });
      run.once("round", pass_on{m.c.data(), rounds.data()});
    });
    recorded.parameter(&m.c.data()->settings, control_settings{.limit = 4});
    recorded.parameter(&(m.c.data() + 1)->settings, control_settings{.limit = 5});
    whilst::program program = std::move(recorded).finish();
    program.prepare({.how = w.how});
    const index_type room = 7, more = 100;
    m.capacity.upload(&room);
    run(program);
    CHECK(values(m.c)[1].why == reason::yielded);
    CHECK(values(m.c)[1].yield_code == needs_room);
    // Three values a run of the inner loop: the third run finds no room after one.
    CHECK(value(rounds) == 2);
    m.capacity.upload(&more);
    REQUIRE(program.yielded());
    program.resume(nullptr);
    program.wait();
    CHECK(values(m.c)[1].why == reason::iteration_limit);
    CHECK(value(rounds) == 5);
    CHECK(value(m.count) == 7 + 3 * 3);
  }
}

#if WHILST_WITH_CUDA

TEST_CASE("a capture is no place to resume in", "[resume][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const place gpu = place::gpu(0);
  lists m(gpu, 3);
  whilst::program program = m.record(gpu);
  program.prepare({.how = whilst::executor::graph});
  run(program);  // capacity 0
  REQUIRE(program.yielded());
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK_THROWS_AS(program.resume(stream.get()), whilst::error);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
  const whilst::cuda::graph owned(graph);
  const index_type capacity = 100;
  m.capacity.upload(&capacity);
  program.resume(nullptr);
  program.wait();
  CHECK(value(m.c).why == reason::iteration_limit);
}

#endif

}  // namespace whilst_test
