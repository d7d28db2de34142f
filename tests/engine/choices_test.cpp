// compiled by nvcc where CUDA is on
// Branches with an else, choices among bodies, bodies side by side.

#include <array>

#include "tests/engine/choices.hpp"
#include "tests/engine/runs.hpp"

namespace whilst_test {

using whilst::program_recorder;

namespace {

/// As IF nodes, which older drivers get, and with random delays in blocks.
const std::array<whilst::run_settings, 3> special_settings{
    whilst::run_settings{}, whilst::run_settings{.emulate_select = true}, whilst::run_settings{.delay_seed = 7}};

}  // namespace

TEST_CASE("a select runs the body that is chosen, or none", "[semantics][choices][sanitizer]") {
  for (const whilst::run_settings& settings : special_settings) {
    INFO("emulated " << settings.emulate_select << ", delays " << settings.delay_seed);
    for_each_run([](place where, const auto& make_run) { check_choices(where, make_run); }, settings);
  }
}

TEST_CASE("a branch with an else runs one of its bodies", "[semantics][choices][sanitizer]") {
  for (const whilst::run_settings& settings : special_settings) {
    INFO("emulated " << settings.emulate_select << ", delays " << settings.delay_seed);
    for_each_run([](place where, const auto& make_run) { check_branch_with_else(where, make_run); }, settings);
  }
}

TEST_CASE("bodies side by side all run, between what is before and what is after", "[semantics][choices][sanitizer]") {
  for (const whilst::run_settings& settings : special_settings) {
    INFO("delays " << settings.delay_seed);
    for_each_run([](place where, const auto& make_run) { check_side_by_side(where, make_run); }, settings);
  }
}

namespace {

/// Says what it writes.
struct declared_add {
  double* x;
  index_type n;
  WHILST_HD void operator()(index_type i) const { x[i] += 1; }
  auto writes() const { return std::array{whilst::memory_range::of(x, n)}; }
};

struct verdict_by_state {
  WHILST_HD void operator()(whilst::loop_state& loop) const { loop.stop(reason::completed); }
};

}  // namespace

TEST_CASE("bodies side by side that declare the same memory are refused, by name", "[choices]") {
  whilst::buffer<double> x(place::host(), 10);
  whilst::buffer<int> flag(place::host(), 1);
  const auto record = [&](double* first, double* second) {
    program_recorder run(place::host());
    run.parallel(
        "both",
        [&](auto& run) {
          run.step("add here", 5, declared_add{first, 5});
        },
        [&](auto& run) {
          run.branch("within", flag.data(), [&](auto& run) { run.step("add there", 5, declared_add{second, 5}); });
        });
  };
  CHECK_NOTHROW(record(x.data(), x.data() + 5));
  std::string message;
  try {
    record(x.data(), x.data() + 4);
  } catch (const whilst::error& refusal) {
    message = refusal.what();
  }
  INFO(message);
  for (const char* part : {"parallel 'both'", "'add here' in body 0", "'add there' in body 1", "one after the other"})
    CHECK(message.find(part) != std::string::npos);

  // Calls declare, too.
  program_recorder run(place::host());
  const auto call = [&](auto& run, const char* name, double* target) {
    run.call(name, [](CUstream_st*) {}, {.writes = {whilst::memory_range::of(target, 1)}});
  };
  CHECK_THROWS_AS(
      run.parallel(
          "calls", [&](auto& run) { call(run, "one", x.data()); }, [&](auto& run) { call(run, "other", x.data()); }),
      whilst::error);
}

TEST_CASE("a verdict on the loop around has no place side by side", "[choices]") {
  whilst::buffer<control> c(place::host(), 2);
  program_recorder run(place::host());
  std::string message;
  try {
    run.loop("around", c.data(),
             [&](auto& run) { run.parallel("beside", [&](auto& run) { run.once("verdict", verdict_by_state{}); }); });
  } catch (const whilst::error& refusal) {
    message = refusal.what();
  }
  INFO(message);
  for (const char* part : {"step 'verdict'", "parallel 'beside'", "a loop of its own"})
    CHECK(message.find(part) != std::string::npos);

  // In a loop of its own it has.
  program_recorder good(place::host());
  good.loop("around", c.data(), [&](auto& run) {
    run.parallel("beside", [&](auto& run) {
      run.loop("inner", c.data() + 1, [&](auto& run) { run.once("verdict", verdict_by_state{}); });
    });
  });
  set_limits(c, {3, 9});
  whilst::program program = std::move(good).finish();
  program.prepare({});
  program.enqueue(nullptr);
  CHECK(values(c)[0].iteration == 3);
  CHECK(values(c)[1].why == reason::completed);
}

TEST_CASE("explain and dot show choices and bodies side by side", "[choices]") {
  whilst::buffer<control> c(place::host(), 2);
  whilst::buffer<int> flag(place::host(), 1);
  whilst::buffer<double> x(place::host(), 4);
  program_recorder run(place::host());
  choices{c.data(), flag.data(), {x.data(), x.data(), x.data(), x.data()}, 4, 1}(run);
  run.branch(
      "either", flag.data(), [&](auto& run) { run.step("this", 4, add_one{x.data()}); },
      [&](auto& run) { run.step("that", 4, add_one{x.data()}); });
  run.parallel(
      "both", [&](auto& run) { run.step("left", 1, add_one{x.data()}); },
      [&](auto& run) { run.step("right", 1, add_one{x.data() + 1}); });
  whilst::program program = std::move(run).finish();
  program.prepare({});
  const std::string tree = program.explain();
  INFO(tree);
  for (const char* part : {"select 'one of three'\n", "    body 1:\n", "branch 'either'\n", "    else:\n",
                           "parallel 'both'\n", "step 'right' over 1"})
    CHECK(tree.find(part) != std::string::npos);
  const std::string graph = program.dot();
  INFO(graph);
  for (const char* part : {"one of three", "either", "both", "right", "shape=point"})
    CHECK(graph.find(part) != std::string::npos);
}

}  // namespace whilst_test
