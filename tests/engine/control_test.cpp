// A loop's record by itself, without anything that runs loops.

#include "whilst/control.hpp"

#include <limits>
#include <vector>

#include "tests/catch.hpp"

namespace whilst_test {

using whilst::control;
using whilst::history_record;
using whilst::index_type;
using whilst::reason;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// An armed root loop with ||b|| = 10, ||r0|| = 20: 1 converges relatively, 2 absolutely, above 2000 diverges.
control armed(index_type limit) {
  control c{};
  c.settings.limit = limit;
  c.settings.rtol = 0.1;
  c.settings.atol = 2;
  c.settings.dtol = 100;
  c.arm(true);
  c.set_reference(10, 20);
  return c;
}

reason verdict_on(double norm, index_type limit) {
  control c = armed(limit);
  const bool stopped = c.check(norm);
  CHECK(stopped == (c.why != reason::running));
  CHECK((c.running != 0) == (c.why == reason::running));
  return c.why;
}

/// One trip that makes no update; true when the loop goes on.
bool goes_on_after_trip(control& c) {
  c.count_trip(c.wish().verdict());
  return c.running != 0;
}

}  // namespace

TEST_CASE("verdicts come in order: not a number, rtol, atol, divergence, limit", "[control]") {
  for (const index_type limit : {0, 5}) {
    CHECK(verdict_on(nan, limit) == reason::nan_or_infinity);
    CHECK(verdict_on(infinity, limit) == reason::nan_or_infinity);
    CHECK(verdict_on(-infinity, limit) == reason::nan_or_infinity);
    CHECK(verdict_on(0, limit) == reason::converged_rtol);
    CHECK(verdict_on(1, limit) == reason::converged_rtol);
    CHECK(verdict_on(1.5, limit) == reason::converged_atol);
    CHECK(verdict_on(2, limit) == reason::converged_atol);
    CHECK(verdict_on(2001, limit) == reason::divergence);
  }
  CHECK(verdict_on(2000, 0) == reason::iteration_limit);
  CHECK(verdict_on(2000, 5) == reason::running);
}

TEST_CASE("the reference takes the larger of the right-hand side and the first residual", "[control]") {
  control c{};
  c.settings.dtol = 100;
  c.set_reference(10, 20);
  CHECK(c.divergence_norm == 2000);
  c.set_reference(30, 20);
  CHECK(c.divergence_norm == 3000);
  control other{};
  other.set_reference(c);
  CHECK(other.divergence_norm == 3000);
}

TEST_CASE("without a reference only zero converges and nothing diverges", "[control]") {
  control c{};
  c.settings.limit = 100;
  c.arm(true);
  CHECK_FALSE(c.check(1e300));
  CHECK_FALSE(c.check(std::numeric_limits<double>::denorm_min()));
  CHECK(c.check(0));
  CHECK(c.why == reason::converged_rtol);
}

TEST_CASE("a zero right-hand side converges at zero", "[control]") {
  control c{};
  c.settings.limit = 100;
  c.settings.rtol = 1e-8;
  c.arm(true);
  c.set_reference(0, 0);
  CHECK(c.check(0));
  CHECK(c.why == reason::converged_rtol);
}

TEST_CASE("check counts the update before it and begins the next", "[control]") {
  control c = armed(3);
  for (index_type completed = 0; completed < 3; ++completed) {
    CHECK_FALSE(c.check(50));
    CHECK(c.iteration == completed);
    CHECK(c.updating == 1);
  }
  CHECK(c.check(50));
  CHECK(c.iteration == 3);
  CHECK(c.updating == 0);
  CHECK(c.why == reason::iteration_limit);
  CHECK(c.residual_norm == 50);
}

TEST_CASE("an update that a verdict cut short is not counted", "[control]") {
  control c = armed(10);
  CHECK_FALSE(c.check(50));
  CHECK_FALSE(c.check(40));
  CHECK(c.stop(reason::breakdown));
  CHECK(c.iteration == 1);
  CHECK(c.why == reason::breakdown);
  CHECK(c.running == 0);
}

TEST_CASE("complete_update counts once, and check does not count it again", "[control]") {
  control c = armed(10);
  CHECK_FALSE(c.check(50));
  c.complete_update();
  c.complete_update();
  CHECK(c.iteration == 1);
  CHECK_FALSE(c.check(50));
  CHECK(c.iteration == 1);
  CHECK_FALSE(c.check(50));
  CHECK(c.iteration == 2);
}

TEST_CASE("check without a residual counts and tests the limit alone", "[control]") {
  control c = armed(2);
  CHECK_FALSE(c.check());
  CHECK_FALSE(c.check());
  CHECK(c.iteration == 1);
  CHECK(c.check());
  CHECK(c.iteration == 2);
  CHECK(c.why == reason::iteration_limit);
}

TEST_CASE("count_iteration completes exactly as many updates as the limit", "[control]") {
  control c = armed(4);
  const whilst::count_iteration count;
  index_type trips = 0;
  while (c.running && trips < 100) {
    count(c);
    ++trips;
  }
  CHECK(trips == 4);
  CHECK(c.iteration == 4);
}

TEST_CASE("a limit of zero opens no loop", "[control]") {
  control c = armed(0);
  CHECK(c.running == 1);
  CHECK_FALSE(c.open());
  CHECK(c.why == reason::iteration_limit);
  CHECK(c.iteration == 0);
  control one = armed(1);
  CHECK(one.open());
  CHECK(one.running == 1);
}

TEST_CASE("a verdict before the first trip is not overwritten by the limit", "[control]") {
  control c = armed(0);
  c.stop(reason::completed);
  CHECK_FALSE(c.open());
  CHECK(c.why == reason::completed);
}

TEST_CASE("arming starts anew, and continues a count where told to", "[control]") {
  std::vector<history_record> history(8);
  control c = armed(10);
  c.settings.history = history.data();
  c.settings.history_capacity = 8;
  c.arm(true);
  c.check(50);
  c.check(40);
  c.stop(reason::breakdown);

  c.first_iteration = c.iteration;
  c.arm(true);
  CHECK(c.running == 1);
  CHECK(c.why == reason::running);
  CHECK(c.iteration == 1);
  CHECK(c.history_count == 2);
  CHECK_FALSE(c.check(30));
  CHECK(c.iteration == 1);  // nothing was being updated
  CHECK(c.history_count == 3);

  c.first_iteration = 0;
  c.arm(true);
  CHECK(c.iteration == 0);
  CHECK(c.history_count == 0);
}

TEST_CASE("a loop under a stopped parent stays as it was", "[control]") {
  control parent = armed(10), child = armed(10);
  child.check(50);
  child.check(40);
  child.stop(reason::breakdown);
  parent.stop(reason::cancelled);
  child.arm(parent.running != 0);
  CHECK(child.running == 0);
  CHECK(child.why == reason::breakdown);
  CHECK(child.iteration == 1);
  CHECK_FALSE(child.open());
}

TEST_CASE("trips are limited to one more than the updates there may be", "[control]") {
  control c = armed(3);
  index_type trips = 0;
  while (goes_on_after_trip(c) && trips < 100) ++trips;
  CHECK(trips == 3);
  CHECK(c.why == reason::iteration_limit);

  c.settings.trip_limit = 7;
  c.arm(true);
  trips = 0;
  while (goes_on_after_trip(c) && trips < 100) ++trips;
  CHECK(trips == 7);
}

TEST_CASE("a loop is cancelled by its launch's own number only", "[control]") {
  control c = armed(10);
  c.settings.launch = 5;
  c.arm(true);
  for (const std::uint64_t other : {0, 4, 6}) {
    c.outside.cancel_request = other;
    CHECK(goes_on_after_trip(c));
  }
  c.outside.cancel_request = 5;
  CHECK_FALSE(goes_on_after_trip(c));
  CHECK(c.why == reason::cancelled);

  // A late request does no harm to the launch after, and a launch without a number cannot be cancelled.
  c.settings.launch = 6;
  c.arm(true);
  CHECK(goes_on_after_trip(c));
  c.settings.launch = 0;
  c.outside.cancel_request = 0;
  c.arm(true);
  CHECK(goes_on_after_trip(c));
}

TEST_CASE("a set of launches holds what was put into it, as far as one word reaches", "[control]") {
  using whilst::launch_set;
  constexpr std::uint64_t far = (std::uint64_t{1} << 47) + 5;  // large numbers are as good as small ones
  for (const std::uint64_t start : {std::uint64_t{100}, far}) {
    for (const std::vector<std::uint64_t>& order :
         {std::vector<std::uint64_t>{0, 1, 5, 16}, {16, 5, 1, 0}, {5, 16, 0, 1}}) {
      launch_set set;
      for (const std::uint64_t k : order) set = set.with(start + k).with(start + k);
      CHECK(set.newest() == start + 16);
      for (std::uint64_t k = 0; k <= 40; ++k) {
        INFO(k);
        CHECK(set.holds(start + k) == (k == 0 || k == 1 || k == 5 || k == 16));
        CHECK_FALSE(set.holds(start - 1 - k));
      }
      // One step further, and the oldest gives way to the newest.
      set = set.with(start + 17);
      CHECK_FALSE(set.holds(start));
      for (const std::uint64_t k : {1, 5, 16, 17}) CHECK(set.holds(start + k));
      // Too far apart for one word: the last one asked for stands alone.
      for (const std::uint64_t other : {start + 17 + 17, start + 17 - 17, start + 17 + 60, start + 17 - 60}) {
        const launch_set alone = set.with(other);
        CHECK(alone.holds(other));
        for (const std::uint64_t k : {1, 5, 16, 17}) CHECK(alone.holds(start + k) == (start + k == other));
      }
    }
    const launch_set all = launch_set::up_to(start + 20);
    for (std::uint64_t k = 0; k <= 40; ++k) CHECK(all.holds(start + k) == (k >= 4 && k <= 20));
  }
  CHECK(launch_set{7}.holds(7));
  for (std::uint64_t launch = 1; launch < 40; ++launch) CHECK_FALSE(launch_set{}.holds(launch));
}

TEST_CASE("loops are cancelled by a request for several launches", "[control]") {
  control c = armed(10);
  c.outside.cancel_request = whilst::launch_set{}.with(3).with(1).word;
  for (const std::uint64_t launch : {0, 1, 2, 3, 4}) {
    c.settings.launch = launch;
    c.arm(true);
    CHECK(goes_on_after_trip(c) == (launch != 1 && launch != 3));
  }
}

TEST_CASE("a verdict of the body's own stands against cancel and deadline", "[control]") {
  control c = armed(10);
  c.settings.launch = 5;
  c.arm(true);
  c.outside.cancel_request = 5;
  c.stop(reason::converged_rtol);
  CHECK_FALSE(goes_on_after_trip(c));
  CHECK(c.why == reason::converged_rtol);
}

TEST_CASE("a limit and a history set after arming count from the next arming on", "[control]") {
  control c = armed(10);
  c.settings.limit = 0;
  CHECK(c.open());
  c.arm(true);
  CHECK_FALSE(c.open());
}

TEST_CASE("a deadline counts from arming, and zero is none", "[control]") {
  control c = armed(10);
  CHECK_FALSE(c.wish().is_late());
  c.settings.deadline_nanoseconds = 1;
  c.arm(true);
  while (whilst::now_nanoseconds() <= c.started_at + 1) {
  }
  CHECK(c.wish().is_late());
  CHECK_FALSE(goes_on_after_trip(c));
  CHECK(c.why == reason::deadline);

  c.settings.deadline_nanoseconds = 3'600'000'000'000;
  c.arm(true);
  CHECK(goes_on_after_trip(c));
}

TEST_CASE("the history holds the first record and an even spread, whatever its length", "[control]") {
  for (const index_type capacity : {2, 4, 8, 64}) {
    // One record more than the settings tell of shows whether anything is written beyond them.
    std::vector<history_record> history(static_cast<std::size_t>(capacity) + 1, {-1, -1});
    control c{};
    c.settings.limit = 1000;
    c.settings.history = history.data();
    c.settings.history_capacity = capacity;
    c.arm(true);
    for (index_type k = 0; k < 200; ++k) {
      c.check(static_cast<double>(1000 + k));
      index_type stride = 1;
      while (k / stride + 1 > capacity) stride *= 2;  // as few steps of thinning as make k + 1 records fit
      INFO("capacity " << capacity << ", record " << k << ", stride " << stride);
      REQUIRE(c.history_count == k / stride + 1);
      for (index_type i = 0; i < c.history_count; ++i) {
        const history_record& record = history[static_cast<std::size_t>(i)];
        REQUIRE(record.iteration == i * stride);
        REQUIRE(record.residual_norm == static_cast<double>(1000 + i * stride));
      }
    }
    CHECK(history.back().iteration == -1);
  }
}

TEST_CASE("no history is kept where there is no room for two records", "[control]") {
  history_record guard{-1, -1};
  for (const index_type capacity : {0, 1}) {
    control c = armed(100);
    c.settings.history = &guard;
    c.settings.history_capacity = capacity;
    c.arm(true);
    c.check(50);
    CHECK(c.history_count == 0);
  }
  CHECK(guard.iteration == -1);
}

TEST_CASE("what is finite", "[control]") {
  CHECK(whilst::is_finite(0));
  CHECK(whilst::is_finite(-std::numeric_limits<double>::max()));
  CHECK(whilst::is_finite(std::numeric_limits<double>::denorm_min()));
  CHECK_FALSE(whilst::is_finite(infinity));
  CHECK_FALSE(whilst::is_finite(-infinity));
  CHECK_FALSE(whilst::is_finite(nan));
}

}  // namespace whilst_test
