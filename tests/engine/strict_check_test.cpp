// compiled by nvcc where CUDA is on
// The strict check: what a recording has frozen is found and named, and programs without such a thing pass.

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::executor;
using whilst::program_recorder;
using whilst::strict_report;
using whilst::watched;

namespace {

/// x[0] = value, where value is the host's when the call is made.
void set_first(CUstream_st* stream, double* x, double value) {
  if (!stream) {
    x[0] = value;
    return;
  }
#if WHILST_WITH_CUDA
  // By memsets: what they write is in the recording.
  const auto bits = std::bit_cast<std::uint64_t>(value);
  auto* const words = reinterpret_cast<unsigned*>(x);
  const auto set = [&](unsigned* word, std::uint64_t to) {
    for (int byte = 0; byte < 4; ++byte)
      cudaMemsetAsync(reinterpret_cast<unsigned char*>(word) + byte, static_cast<int>(to >> (8 * byte) & 255), 1,
                      stream);
  };
  set(words, bits & 0xffffffff);
  set(words + 1, bits >> 32);
#endif
}

/// A loop of three trips: a call that does `work`, and a step.
template <class Work>
whilst::program with_work(place where, const whilst::buffer<control>& c, const whilst::buffer<double>& x,
                          const Work& work) {
  program_recorder record(where);
  record.loop("trips", c.data(), [&](auto& run) {
    run.step("x += 1", x.size(), add_one{x.data()});
    run.call("the culprit", work);
    run.once("verdict", stop_at{c.data(), 3});
  });
  return std::move(record).finish();
}

struct first_time {
  const index_type* counter;
  int* flag;
  WHILST_HD void operator()() const { *flag = *counter < 2; }
};

struct copy_floats {
  const float* x;
  float* y;
  WHILST_HD void operator()(index_type i) const { y[i] = x[i]; }
};

struct looked_at {
  whilst::buffer<control> c;
  whilst::buffer<double> x;
  explicit looked_at(place where, index_type n = 3) : c(where, 1), x(where, n) { set_limits(c, {10}); }
  std::vector<whilst::watched_memory> all() const { return {watched("x", x.data(), x.size())}; }
};

}  // namespace

TEST_CASE("a clean program passes the strict check, which leaves what a run leaves", "[strict]") {
  for (const way& w : ways()) {
    for (const index_type n : {index_type{1}, index_type{700}, index_type{9000}}) {
      INFO(w.name << " " << n);
      three_steps_memory m(w.where, n);
      program_recorder record(w.where);
      m.method(1)(record);
      record.parameter(&m.c.data()->settings, m.settings());
      record.parameter(m.stop_at.data(), index_type{4});
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how, .unroll = 3});
      const strict_report report = program.check_strictly(
          {watched("x", m.x.data(), n), watched("y", m.y.data(), n), watched("z", m.z.data(), n)});
      INFO(report.message);
      CHECK(report);
      CHECK(report.runs_compared >= 3 * 3 + 2);
      const auto expected = three_steps::expected(n, 4, 1);
      CHECK((values(m.x) == expected.x));
      CHECK((values(m.z) == expected.z));
      m.zero();
      run(program);
      CHECK((values(m.z) == expected.z));
    }
  }
}

TEST_CASE("a counter on the host is found, with the call, the run, the buffer and both values", "[strict]") {
  for (const way& w : ways()) {
    INFO(w.name);
    looked_at m(w.where);
    const auto counter = std::make_shared<double>(0.0);
    whilst::program program =
        with_work(w.where, m.c, m.x, [counter, x = m.x.data()](CUstream_st* s) { set_first(s, x, *counter += 10); });
    program.prepare({.how = w.how});
    const double before = *counter;  // preparing a graph has made the call already
    const strict_report report = program.check_strictly(m.all());
    CHECK_FALSE(report);
    CHECK(report.step == "the culprit");
    // Three runs of the call, then the first one of the second time. So far it is the host's, whatever ran it.
    CHECK(report.run == 1);
    CHECK(report.buffer == "x");
    CHECK(report.element == 0);
    REQUIRE(report.expected.size() == sizeof(double));
    double expected = 0, found = 0;
    std::memcpy(&expected, report.expected.data(), sizeof expected);
    std::memcpy(&found, report.found.data(), sizeof found);
    CHECK(expected == before + 10);
    CHECK(found == before + 40);
    CHECK_THAT(report.message, contains("after run 1 of 'the culprit'") && contains("element 0 of 'x'") &&
                                   contains("memory of the place"));
  }
}

#if WHILST_WITH_CUDA

TEST_CASE("host state that each run resets is frozen by a graph, and found where it shows", "[strict][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const place where = place::gpu(0);
  looked_at m(where);
  const auto counter = std::make_shared<double>(0.0);
  program_recorder record(where);
  record.call("reset", [counter](CUstream_st*) { *counter = 0; });
  record.loop("trips", m.c.data(), [&](auto& run) {
    run.call("count", [counter, x = m.x.data()](CUstream_st* s) { set_first(s, x, *counter += 1); });
    run.once("verdict", stop_at{m.c.data(), 3});
  });
  whilst::program program = std::move(record).finish();
  for (const executor how : {executor::stream, executor::graph}) {
    program.prepare({.how = how});
    const strict_report report = program.check_strictly(m.all());
    CHECK_FALSE(report);
    CHECK(report.step == "count");
    CHECK(report.run == 2);
    CHECK_THAT(report.message, contains("element 0 of 'x' is 1 (bytes 00 00 00 00 00 00 f0 3f) instead of 2 "));
  }
}

TEST_CASE("a call that enqueues to the legacy stream is found by the strict check", "[strict][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const place where = place::gpu(0);
  looked_at m(where);
  whilst::program program = with_work(
      where, m.c, m.x, [x = m.x.data()](CUstream_st*) { cudaMemsetAsync(x, 0, sizeof(double), cudaStreamLegacy); });
  program.prepare({.how = executor::stream});
  CHECK_THROWS_WITH(program.check_strictly(m.all()),
                    contains("'the culprit'") && contains("legacy default stream") && contains("cublasSetStream"));
  whilst::program clean = with_work(where, m.c, m.x, [](CUstream_st*) {});
  clean.prepare({.how = executor::graph});
  CHECK(clean.check_strictly(m.all()));
}

#endif

TEST_CASE("memory that the program reads and nobody watches is not blamed on a step's values", "[strict]") {
  for (const way& w : ways()) {
    INFO(w.name);
    looked_at m(w.where, 700);
    whilst::buffer<double> y(w.where, 1);
    program_recorder record(w.where);
    record.step("x += 1", 700, add_one{m.x.data()});
    record.loop("trips", m.c.data(), [&](auto& run) { run.step("y += 1", 1, add_one{y.data()}); });
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    // y goes on from run to run, and shows only where it is watched; then it is set back.
    CHECK(program.check_strictly(m.all()));
    CHECK(program.check_strictly({watched("y", y.data(), 1)}));
    CHECK(program.check_strictly({}));
  }
}

TEST_CASE("what is not a number is equal to itself, as bits are compared", "[strict]") {
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<float> x(w.where, 3), y(w.where, 3);
    x.upload(std::vector<float>{std::nanf(""), -0.0f, HUGE_VALF}.data());
    program_recorder record(w.where);
    record.step("y = x", 3, copy_floats{x.data(), y.data()});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    const strict_report report = program.check_strictly({watched("x", x.data(), 3), watched("y", y.data(), 3)});
    INFO(report.message);
    CHECK(report);
    CHECK(report.runs_compared == 1);
    CHECK(std::signbit(values(y)[1]));
  }
}

TEST_CASE("another way through the program is told", "[strict]") {
  for (const way& w : ways()) {
    INFO(w.name);
    looked_at m(w.where);
    whilst::buffer<index_type> counter(w.where, 1);
    whilst::buffer<int> flag(w.where, 1);
    program_recorder record(w.where);
    record.once("count runs", add_to{counter.data(), 1});
    record.once("first time?", first_time{counter.data(), flag.data()});
    record.branch("once only", flag.data(), [&](auto& run) { run.step("x += 1", 3, add_one{m.x.data()}); });
    record.step("the end", 3, add_one{m.x.data()});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    const strict_report report = program.check_strictly(m.all());
    CHECK_FALSE(report);
    CHECK(report.buffer.empty());
    CHECK_THAT(report.message, contains("ran 'the end' where the first run ran 'x += 1'") && contains("Watch"));
  }
}

TEST_CASE("a strict check refuses what it cannot watch, and takes no more memory than allowed", "[strict]") {
  looked_at m(place::host());
  whilst::program program = with_work(place::host(), m.c, m.x, [](CUstream_st*) {});
  program.prepare({});
  CHECK_THROWS_WITH(program.check_strictly({{.name = "nowhere", .address = nullptr, .bytes = 8}}),
                    contains("'nowhere'"));
  CHECK_THROWS_WITH(program.check_strictly(m.all(), nullptr, 3 * 24), contains("Watch less"));
  CHECK(program.check_strictly(m.all(), nullptr, 4 * 24));  // the start, and a change in each of three trips
}

}  // namespace whilst_test
