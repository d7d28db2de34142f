// compiled by nvcc where CUDA is on
// What a program tells of its loops after a run.

#include "whilst/loop_endings.hpp"

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::control_settings;

TEST_CASE("each loop of a program says why it stopped, and whether it ran", "[loop_endings][sanitizer]") {
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<control> c(w.where, 4);
    whilst::buffer<int> flag(w.where, 1);
    control* const cs = c.data();
    whilst::program_recorder record(w.where);
    record.loop("outer", cs, [&](auto& run) {
      run.loop("by verdict", cs + 1, [&](auto& run) { run.once("stop", stop_at{cs + 1, 2}); });
      run.branch("never", flag.data(), [&](auto& run) { run.loop("skipped", cs + 2, [](auto&) {}); });
      run.once("count", whilst::count_iteration{});
    });
    record.loop("after", cs + 3, [](auto&) {});
    record.parameter(&cs[0].settings, control_settings{.limit = 3});
    record.parameter(&cs[1].settings, control_settings{.limit = 100});
    const auto after = record.parameter(&cs[3].settings, control_settings{.limit = 5});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    for (const bool ran : {false, true}) {
      if (ran) run(program);
      const auto endings = whilst::loop_endings(program);
      REQUIRE(endings.size() == 4);
      CHECK(endings[0].ran == ran);
      CHECK(endings[1].ran == ran);
      CHECK(endings[3].ran == ran);
      CHECK(endings[2].loop == "outer > skipped");
      CHECK_FALSE(endings[2].ran);
      if (!ran) continue;
      CHECK(endings[0].why == reason::iteration_limit);
      CHECK(endings[0].iterations == 3);
      CHECK(endings[1].loop == "outer > by verdict");
      CHECK(endings[1].why == reason::completed);
      CHECK(endings[3].iterations == 5);
    }
    // The next run has its own.
    program.set(after, control_settings{.limit = 2});
    run(program);
    CHECK(whilst::loop_endings(program)[3].iterations == 2);
  }
}

}  // namespace whilst_test
