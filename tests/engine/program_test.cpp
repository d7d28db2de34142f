// compiled by nvcc where CUDA is on
// What a program tells about itself.

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::executor;
using whilst::program_recorder;

namespace {

struct small_memory {
  whilst::buffer<control> c;
  whilst::buffer<double> x;
  whilst::buffer<int> flag;
  explicit small_memory(place where) : c(where, 1), x(where, 100), flag(where, 1) { set_limits(c, {3}); }
};

/// A loop with a start, a branch, and a call that follows a verdict.
whilst::program small_program(place where, const small_memory& m) {
  program_recorder record(where);
  const add_one map{m.x.data()};
  record.step("set \"up\"", 100, map);
  record.loop(
      "outer", m.c.data(), [&](auto& run) { run.step("begin", 10, map); },
      [&](auto& run) {
        run.once("verdict", stop_at{m.c.data(), 2});
        run.branch("sometimes", m.flag.data(), [&](auto& run) { run.step("extra", 10, map); });
        run.call("library", [](CUstream_st*) {});
      });
  record.step("end", 100, map);
  return std::move(record).finish();
}

struct does_nothing {
  WHILST_HD void operator()() const {}
};
void record_nothing(whilst::recorder&) {}
void record_does_nothing(whilst::recorder& run) { run.once("nothing", does_nothing{}); }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

const std::string small_tree = R"(  step 'set "up"' over 100
  loop 'outer', 1 a trip
    start:
      step 'begin' over 10
    body:
      step 'verdict', with a finish
      branch 'sometimes'
        step 'extra' over 10
      call 'library'
  step 'end' over 100
)";

}  // namespace

TEST_CASE("a program explains its tree, and what it is made of once it is prepared", "[semantics]") {
  for (const way& w : ways()) {
    INFO(w.name);
    const small_memory memory(w.where);
    whilst::program program = small_program(w.where, memory);
    const std::string where = w.where.on_host() ? "the host" : "GPU 0";
    CHECK(program.explain() == "program on " + where + ", not prepared, 0 words of parameters\n" + small_tree);
    program.prepare({.how = w.how, .unroll = 4});
    // Lowering adds a step that arms the loop, one that opens it, and one that holds the call back. The loop is not
    // unrolled, since that call must not run after a verdict.
    const bool is_graph = w.how == executor::graph;
    const std::string loop = is_graph ? "1 WHILE node" : "1 loop", branches = is_graph ? "2 IF nodes" : "2 branches";
    CHECK(program.explain() == "program on " + where + ", executor " + std::string(name(w.how)) +
                                   ", 0 words of parameters\n" + small_tree + "loop 'outer': 3 kernels, " + branches +
                                   ", 1 call a trip\noutside loops: 5 kernels, " + loop + "\nin all: 8 kernels, " +
                                   loop + ", " + branches + ", 1 call\n");
  }
}

TEST_CASE("an explained loop counts the kernels of its unrolled body", "[semantics]") {
  for (const way& w : ways()) {
    INFO(w.name);
    const small_memory memory(w.where);
    program_recorder record(w.where);
    no_finish_in_body{memory.c.data(), memory.x.data(), memory.x.size()}(record);
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how, .unroll = 4});
    const std::string text = program.explain();
    CHECK_THAT(text, contains("loop 'count', 4 a trip\n"));
    CHECK_THAT(text, contains("step 'count the iteration', with a finish\n"));  // the recorder's own
    CHECK_THAT(text, contains("loop 'count': 8 kernels a trip\n"));
    CHECK_THAT(text, contains("in all: 9 kernels, 1 "));
  }
}

TEST_CASE("a body may be a plain function", "[semantics]") {
  const small_memory m(place::host());
  program_recorder record(place::host());
  record.branch("sometimes", m.flag.data(), record_nothing, record_does_nothing);
  record.parallel("side by side", record_does_nothing, &record_nothing);
  const whilst::program program = std::move(record).finish();
  CHECK(count(program.explain(), "step 'nothing'") == 2);
}

TEST_CASE("a program draws itself for Graphviz", "[semantics]") {
  const small_memory memory(place::host());
  const std::string text = small_program(place::host(), memory).dot();
  CHECK(text.substr(0, 8) == "digraph ");
  CHECK(text.substr(text.size() - 2) == "}\n");
  CHECK(count(text, "[shape=") == 8);
  CHECK(count(text, "shape=box") == 5);
  for (const char* node : {"diamond, label=\"outer\"", "hexagon, label=\"sometimes\"", "component, label=\"library\"",
                           "box, label=\"set \\\"up\\\"\"", "box, label=\"begin\"", "box, label=\"end\""}) {
    INFO(node);
    CHECK(count(text, std::string("[shape=") + node + "]") == 1);
  }
  // One edge into each node but the first, and the one that closes the loop.
  CHECK(count(text, " -> ") == 8);
  CHECK(count(text, "style=dashed") == 1);
}

TEST_CASE("a program tells of itself in JSON what it explains", "[semantics]") {
  for (const way& w : ways()) {
    INFO(w.name);
    const small_memory memory(w.where);
    whilst::program program = small_program(w.where, memory);
    const auto before = nlohmann::json::parse(program.json());
    CHECK(before["prepared"] == false);
    CHECK_FALSE(before.contains("in_all"));
    program.prepare({.how = w.how, .unroll = 4});
    const auto tree = nlohmann::json::parse(program.json());
    CHECK(tree["place"] == (w.where.on_host() ? "the host" : "GPU 0"));
    CHECK(tree["executor"] == std::string(name(w.how)));
    CHECK(tree["parameter_words"] == 0);
    const nlohmann::json outside{{"kernels", 5}, {"loops", 1}, {"branches", 0}, {"selects", 0}, {"calls", 0}};
    const nlohmann::json in_all{{"kernels", 8}, {"loops", 1}, {"branches", 2}, {"selects", 0}, {"calls", 1}};
    CHECK(tree["outside_loops"] == outside);
    CHECK(tree["in_all"] == in_all);
    const auto& nodes = tree["nodes"];
    REQUIRE(nodes.size() == 3);
    const nlohmann::json first{{"kind", "step"}, {"name", "set \"up\""}, {"count", 100}, {"finish", false}};
    CHECK(nodes[0] == first);
    CHECK(nodes[1]["kind"] == "loop");
    CHECK(nodes[1]["iterations_a_trip"] == 1);
    CHECK(nodes[1]["a_trip"]["branches"] == 2);
    CHECK(nodes[1]["start"][0]["name"] == "begin");
    REQUIRE(nodes[1]["body"].size() == 3);
    CHECK(nodes[1]["body"][0]["finish"] == true);
    CHECK(nodes[1]["body"][1]["body"][0]["name"] == "extra");
    const nlohmann::json call{{"kind", "call"}, {"name", "library"}, {"scratch_only", false}};
    CHECK(nodes[1]["body"][2] == call);
  }
}

TEST_CASE("names of any characters make JSON", "[semantics]") {
  const std::string odd = "a \\ \"b\"\n\t\x01 \xc3\xa9";
  program_recorder record(place::host());
  record.call(odd.c_str(), [](CUstream_st*) {});
  const whilst::program program = std::move(record).finish();
  CHECK(nlohmann::json::parse(program.json())["nodes"][0]["name"] == odd);
}

#if WHILST_WITH_CUDA

TEST_CASE("what explain counts outside loops are the nodes of a graph", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const small_memory memory(place::gpu(0));
  whilst::program program = small_program(place::gpu(0), memory);
  program.prepare({.how = executor::graph});
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  program.enqueue(stream.get());
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream.get(), &graph) == cudaSuccess);
  const whilst::cuda::graph owned(graph);
  std::size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK_THAT(program.explain(), contains("outside loops: 5 kernels, 1 WHILE node\n"));
  CHECK(nodes == 5 + 1);
}

#endif

}  // namespace whilst_test
