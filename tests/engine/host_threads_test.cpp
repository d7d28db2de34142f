// The threads of the host executor: who runs what, exceptions, fork.
#include "whilst/engine/steps/host_threads.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/recorder.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::run_on_threads;

namespace {

/// How often each k was run.
std::vector<int> counts_of_a_run(index_type count, int threads, index_type least_a_thread) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
  run_on_threads(count, threads, least_a_thread, [&](index_type k) { ++seen[static_cast<std::size_t>(k)]; });
  return {seen.begin(), seen.end()};
}

/// Whether run_on_threads runs each of many once, on 4 threads.
bool works_on_threads() { return counts_of_a_run(1000, 4, 1) == std::vector<int>(1000, 1); }

struct from_an_index : std::runtime_error {
  explicit from_an_index(index_type i) : std::runtime_error("index " + std::to_string(i)), index(i) {}
  index_type index;
};

/// y = 1, but where it is armed to throw.
struct throwing_ones {
  double* y;
  const index_type* throws_from;
  void operator()(index_type i) const {
    if (i >= *throws_from && i % 3 == 0) throw from_an_index(i);
    y[i] = 1;
  }
};
struct throwing_sums {
  const index_type* throws_from;
  double operator()(index_type i) const {
    if (i >= *throws_from) throw from_an_index(i);
    return 1;
  }
};
struct note_total {
  double* total;
  void operator()(double sum, whilst::loop_state& loop) const {
    *total = sum;
    loop.updating = 1;
    loop.check();
  }
};
/// The same, but where it is armed to throw.
struct throwing_note {
  double* total;
  const index_type* throws_at;
  void operator()(double sum, whilst::loop_state& loop) const {
    if (loop.iteration == *throws_at) throw from_an_index(loop.iteration);
    note_total{total}(sum, loop);
  }
};

/// Seconds of processor time that all threads of this process have taken together.
double processor_seconds() {
  rusage taken{};
  REQUIRE(getrusage(RUSAGE_SELF, &taken) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(taken.ru_utime) + seconds(taken.ru_stime);
}

}  // namespace

TEST_CASE("host threads run each index once, however many there are", "[host_threads][sanitizer]") {
  for (const index_type count : {0, 1, 2, 3, 63, 64, 65, 1000})
    for (const int threads : {0, 1, 2, 3, 7, 40})
      for (const index_type least : {1, 16}) {
        INFO(count << " on " << threads << ", " << least << " a thread at least");
        CHECK(counts_of_a_run(count, threads, least) == std::vector<int>(static_cast<std::size_t>(count), 1));
      }
}

TEST_CASE("host threads share a job out", "[host_threads]") {
  // Each of two bodies waits until the other has begun: one thread alone would never come to an end.
  std::atomic<int> begun{0};
  run_on_threads(2, 2, 1, [&](index_type) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  CHECK(begun == 2);
}

TEST_CASE("host threads sleep between runs", "[host_threads]") {
  REQUIRE(works_on_threads());
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // Three that spin take their share of the processors, up to 600 ms. Three that sleep take some microseconds first,
  // however loaded the machine is and whenever it goes on here: what waits takes no processor time.
  CHECK(processor_seconds() - before < 0.1);
}

TEST_CASE("bodies that run bodies of their own run them on their thread", "[host_threads][sanitizer]") {
  std::atomic<int> inner{0}, elsewhere{0};
  run_on_threads(8, 4, 1, [&](index_type) {
    CHECK(whilst::is_on_host_threads());
    const std::thread::id mine = std::this_thread::get_id();
    run_on_threads(100, 4, 1, [&](index_type) { ++inner, elsewhere += std::this_thread::get_id() != mine; });
  });
  CHECK_FALSE(whilst::is_on_host_threads());
  CHECK(inner == 800);
  CHECK(elsewhere == 0);
}

TEST_CASE("threads that run bodies at the same time have teams of their own", "[host_threads][sanitizer]") {
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int k = 0; k < 20; ++k) right += works_on_threads();
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(right == 80);
}

TEST_CASE("of several exceptions on host threads that of the smallest index comes out", "[host_threads][sanitizer]") {
  for (int k = 0; k < 50; ++k) {
    index_type caught = -1;
    try {
      run_on_threads(200, 4, 1, [](index_type i) {
        if (i >= 20 && i % 7 == 0) throw from_an_index(i);
      });
    } catch (const from_an_index& e) {
      caught = e.index;
    }
    CHECK(caught == 21);
    CHECK(works_on_threads());
  }
}

TEST_CASE("a child process has host threads of its own", "[host_threads]") {
  REQUIRE(works_on_threads());
  for (const bool twice : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // instead of hanging
      bool right = works_on_threads();
      if (twice) {
        const pid_t grandchild = fork();
        if (grandchild == 0) _exit(works_on_threads() ? 0 : 1);
        int status = -1;
        waitpid(grandchild, &status, 0);
        right = right && status == 0;
      }
      _exit(right && works_on_threads() ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(works_on_threads());
  }
}

// The address sanitizer hangs where a process ends with a thread that is not its first.
#if !defined(WHILST_SANITIZE)
TEST_CASE("a thread that has forked may end in the child process", "[host_threads]") {
  int status = -1;
  std::thread([&] {
    const bool works = works_on_threads();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // instead of hanging
      return;     // it is the child's only thread: with it the child ends, with status 0
    }
    if (works) waitpid(child, &status, 0);
  }).join();
  CHECK(status == 0);
}
#endif

TEST_CASE("numbers of host threads out of range are refused", "[host_threads]") {
  for (const int threads : {-1, 1025}) {
    CHECK_THROWS_WITH(whilst::check_host_threads("testing", threads), contains("Give 1 to 1024"));
    std::vector<double> y(10);
    whilst::program_recorder record(whilst::place::host());
    whilst::program recorded = std::move(record).finish();
    CHECK_THROWS_WITH(recorded.prepare({.threads = threads}), contains("preparing a program: threads is"));
  }
}

TEST_CASE("an exception out of a map comes out of enqueue, and the program runs again", "[program][sanitizer]") {
  constexpr index_type n = 200'000, none = n;  // some hundred chunks
  whilst::buffer<double> y(whilst::place::host(), n), total(whilst::place::host(), 1);
  whilst::buffer<whilst::control> outer(whilst::place::host(), 1), inner(whilst::place::host(), 1);
  auto ones_throw_from = std::make_unique<index_type>(none), sums_throw_from = std::make_unique<index_type>(none);
  whilst::program_recorder record(whilst::place::host());
  record.loop("outer", outer.data(), [&](auto& run) {
    run.step("y = 1", n, throwing_ones{y.data(), ones_throw_from.get()});
    run.loop("inner", inner.data(),
             [&](auto& run) { run.step("sum", n, throwing_sums{sums_throw_from.get()}, note_total{total.data()}); });
  });
  record.parameter(&outer.data()->settings, whilst::control_settings{.limit = 2});
  record.parameter(&inner.data()->settings, whilst::control_settings{.limit = 3});
  whilst::program recorded = std::move(record).finish();
  for (const int threads : {1, 4}) {
    recorded.prepare({.threads = threads});
    for (const bool in_profile : {false, true}) {
      INFO(threads << " threads" << (in_profile ? ", profiled" : ""));
      const auto run = [&] {
        if (in_profile) {
          static_cast<void>(recorded.profile());
        } else {
          recorded.enqueue(nullptr);
        }
      };
      const auto check_left_by = [&](index_type index) {
        index_type caught = -1;
        try {
          run();
        } catch (const from_an_index& e) {
          caught = e.index;
        }
        CHECK(caught == index);
        CHECK(outer.data()->running == 0);
        CHECK(inner.data()->running == 0);
      };
      *ones_throw_from = 5000;
      check_left_by(5001);
      *ones_throw_from = none;
      *sums_throw_from = 150'000;
      check_left_by(150'000);
      *sums_throw_from = none;
      run();
      CHECK(total.data()[0] == n);
      CHECK(outer.data()->iteration == 2);
      CHECK(inner.data()->iteration == 3);
    }
  }
}

TEST_CASE("an exception out of a finish comes out of enqueue, and the program runs again", "[program][sanitizer]") {
  constexpr index_type n = 200'000, none = n;  // some hundred chunks
  whilst::buffer<double> total(whilst::place::host(), 1);
  whilst::buffer<whilst::control> outer(whilst::place::host(), 1), inner(whilst::place::host(), 1);
  const index_type maps_throw_from = none;
  index_type throws_at = -1;
  whilst::program_recorder record(whilst::place::host());
  record.loop("outer", outer.data(), [&](auto& run) {
    run.loop("inner", inner.data(), [&](auto& run) {
      run.step("sum", n, throwing_sums{&maps_throw_from}, throwing_note{total.data(), &throws_at});
    });
  });
  record.parameter(&outer.data()->settings, whilst::control_settings{.limit = 2});
  record.parameter(&inner.data()->settings, whilst::control_settings{.limit = 3});
  whilst::program recorded = std::move(record).finish();
  for (const int threads : {1, 4}) {
    recorded.prepare({.threads = threads});
    for (const index_type at : {0, 1, 2}) {
      INFO(threads << " threads, iteration " << at);
      throws_at = at;
      CHECK_THROWS_WITH(recorded.enqueue(nullptr), "index " + std::to_string(at));
      CHECK(outer.data()->running == 0);
      CHECK(inner.data()->running == 0);
      CHECK_THROWS_AS(recorded.profile(), from_an_index);
      CHECK(outer.data()->running == 0);
      throws_at = -1;
      total.data()[0] = 0;
      recorded.enqueue(nullptr);
      CHECK(total.data()[0] == n);
      CHECK(outer.data()->iteration == 2);
      CHECK(inner.data()->iteration == 3);
    }
  }
}

}  // namespace whilst_test
