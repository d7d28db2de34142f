// Runs graph_tour, which checks itself, as a person would.

#include <cstdlib>
#include <string>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace {

using whilst_test::contains;
using whilst_test::outcome;
using whilst_test::strings;
using whilst_test::with;

const strings stops{"step", "loop", "nested", "branch", "choices", "update", "resume", "progress", "explain"};

outcome run(const strings& arguments) {
  const char* given = std::getenv("WHILST_TEST_GRAPH_TOUR");
  return whilst_test::run_program(given ? given : whilst_test::program_path("graph_tour"), arguments);
}

}  // namespace

TEST_CASE("graph_tour tells its version and how it is used") {
  CHECK(whilst_test::is_version("graph_tour", run({"--version"}).out));
  const outcome help = run({"--help"});
  CHECK(help.status == 0);
  for (const std::string& stop : stops) CHECK(contains(help.out, "\n  " + stop + " "));
}

TEST_CASE("graph_tour: each stop's checks hold, on every executor") {
  for (const std::string& executor :
       whilst::cuda::device_count() > 0 ? strings{"host", "stream", "graph", "auto"} : strings{"host", "auto"}) {
    const outcome all = run({"--executor", executor});
    INFO(executor << "\n" << all.out << all.err);
    CHECK(all.status == 0);
    CHECK(all.err.empty());
    for (const std::string& stop : stops) {
      CHECK(contains(all.out, stop + ": "));
      // One that stands alone says what it does, too, and what it checked.
      const outcome one = run({"--executor", executor, "--stop", stop});
      CHECK(one.status == 0);
      CHECK(one.out.rfind(stop + ": ", 0) == 0);
      CHECK(contains(one.out, "checked: "));
      for (const std::string& other : stops)
        if (other != stop) CHECK(!contains(one.out, "\n" + other + ": "));
    }
  }
}

TEST_CASE("graph_tour refuses what it cannot do, and says what it can") {
  struct wrong_line {
    strings arguments;
    const char* message;
  };
  for (const auto& [arguments, message] :
       {wrong_line{{"--executor", "batch"}, "give one of auto, host, stream, graph"},
        wrong_line{{"--stop", "end"}, "give one of step, loop"}, wrong_line{{"--stop", ""}, "give one of step, loop"},
        wrong_line{{"--frobnicate"}, "--frobnicate"}, wrong_line{{"loop"}, "loop"}}) {
    const outcome result = run(arguments);
    INFO(message << " in: " << result.err);
    CHECK(result.status == 1);
    CHECK(contains(result.err, message));
    CHECK(result.err.rfind("graph_tour: ", 0) == 0);
    CHECK(result.out.empty());
  }
}
