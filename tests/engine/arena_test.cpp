// compiled by nvcc where CUDA is on
// Whose memory a program runs on, and when it can be asked for.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::arena_layout;
using whilst::control_settings;
using whilst::memory_item;
using whilst::program_recorder;
using whilst::recorder;

namespace {

struct placed {
  double* x;
  control* loop;
};
placed lay_out(arena_layout& memory, index_type n) {
  memory.item("vectors");
  double* const x = memory.take<double>(n);
  memory.item("control");
  return {x, memory.take<control>(1)};
}

/// Adds 1 to each of n numbers `trips` times.
program_recorder& record_adding(program_recorder& record, const placed& at, index_type n, index_type trips) {
  record.parameter(&at.loop->settings, control_settings{.limit = trips});
  record.loop("add", at.loop, [&](recorder& run) { run.step("x += 1", n, add_one{at.x}); });
  return record;
}

struct copy_to {
  const double* from;
  double* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

template <class Run>
concept gives_memory = requires(Run& run, placed (*layout)(arena_layout&), whilst::buffer<double>& x) {
  run.arena(layout);
}
|| requires(Run& run, whilst::buffer<double>& x) { run.uses("x", x); }
|| requires(Run& run) { run.template parameter<float>("p", 1.0f); }
|| requires(Run& run) { run.template slot<float>("s"); };
static_assert(gives_memory<program_recorder>);
static_assert(!gives_memory<recorder>, "a body cannot ask for memory");

const memory_item& item(const whilst::memory_table& table, const std::string& name) {
  for (const memory_item& line : table.items)
    if (line.name == name) return line;
  FAIL("memory() has no line '" << name << "'");
  return table.items.front();
}

}  // namespace

TEST_CASE("a program owns its arena, of one piece, and lists it", "[arena][sanitizer]") {
  const index_type n = 1000;
  for (const way& w : ways()) {
    INFO(w.name);
    std::optional<whilst::program> program;
    whilst::buffer<double> result(w.where, n);
    {
      program_recorder record(w.where);
      int calls = 0;
      const placed at = record.arena([&](arena_layout& memory) {
        ++calls;
        return lay_out(memory, n);
      });
      CHECK(calls == 2);
      CHECK(reinterpret_cast<std::byte*>(at.loop) - reinterpret_cast<std::byte*>(at.x) == 8192);  // 8000, by 256
      record_adding(record, at, n, 7);
      record.step("result = x", n, copy_to{at.x, record.uses("result", result)});
      program = std::move(record).finish();
    }
    program->prepare({.how = w.how});
    run(*program);
    CHECK((values(result) == std::vector<double>(static_cast<std::size_t>(n), 7.0)));  // zeroed, and then seven times
    run(*program);
    CHECK(value(result) == 14.0);

    const whilst::memory_table table = program->memory();
    CHECK(item(table, "vectors").bytes == 8000);
    CHECK(item(table, "vectors").kept == whilst::lifetime::owned);
    CHECK(item(table, "control").bytes >= sizeof(control));
    CHECK(item(table, "result").address == result.data());
    CHECK(item(table, "result").kept == whilst::lifetime::borrowed);
    CHECK_THAT(table.text(), contains(", borrowed\n"));
    if (!w.where.on_host()) CHECK(program->device_bytes() >= static_cast<index_type>(8000 + sizeof(control)));
  }
}

TEST_CASE("an arena lies in room that somebody else has, zeroed", "[arena][sanitizer]") {
  const index_type n = 1000;
  for (const way& w : ways()) {
    INFO(w.name);
    const std::vector<double> ones(static_cast<std::size_t>(2 * n), 1.0);
    const whilst::buffer<double> room(w.where, 2 * n, ones.data());
    std::vector<std::size_t> asked;
    const auto recorded = [&](double* there) {
      program_recorder record(w.where);
      record.seek_room([&, there](std::size_t bytes) {
        asked.push_back(bytes);
        return there;
      });
      double* const at = record.arena([&](arena_layout& memory) { return memory.take<double>(n); });
      return std::pair(at, std::move(record).finish());
    };
    const auto [within, program] = recorded(room.data());
    CHECK(within == room.data());
    CHECK(item(program.memory(), "workspace").bytes == 8000);
    const std::vector<double> after = values(room);
    CHECK(std::all_of(after.begin(), after.begin() + n, [](double one) { return one == 0; }));
    CHECK(std::all_of(after.begin() + n, after.end(), [](double one) { return one == 1; }));

    const auto [elsewhere, other] = recorded(nullptr);  // there is none
    CHECK(elsewhere != nullptr);
    CHECK((elsewhere < room.data() || elsewhere >= room.data() + 2 * n));
    CHECK(asked == std::vector<std::size_t>{8000, 8000});
  }
}

TEST_CASE("a layout may keep what it takes, and return nothing", "[arena]") {
  for (const way& w : ways()) {
    double* x = nullptr;
    program_recorder record(w.where);
    record.arena([&](arena_layout& memory) { x = memory.take<double>(100); });
    REQUIRE(x != nullptr);
    index_type count = 0;
    const auto take_less_and_less = [&](arena_layout& memory) { memory.take<double>(100 - 50 * count++); };
    program_recorder other(w.where);
    REQUIRE_THROWS_WITH(other.arena(take_less_and_less), contains("Take the same pieces in both calls"));
  }
}

TEST_CASE("how a buffer is given to a program says how long it lives", "[arena]") {
  for (const way& w : ways()) {
    INFO(w.name);
    const index_type n = 300;
    auto shared = std::make_shared<whilst::buffer<double>>(w.where, n);
    const std::weak_ptr<whilst::buffer<double>> watched = shared;
    std::optional<whilst::program> program;
    whilst::buffer<double> result(w.where, n);
    double* moved = nullptr;
    {
      program_recorder record(w.where);
      whilst::buffer<double> own(w.where, n);
      moved = own.data();
      double* const x = record.uses("own", std::move(own));
      CHECK(x == moved);
      double* const y = record.uses("together", shared);
      CHECK(y == shared->data());
      record.step("own += 1", n, add_one{x});
      record.step("together = own", n, copy_to{x, y});
      record.step("result = together", n, copy_to{y, result.data()});
      program = std::move(record).finish();
    }
    shared.reset();
    CHECK_FALSE(watched.expired());  // the program has it
    program->prepare({.how = w.how});
    run(*program);
    CHECK((values(result) == std::vector<double>(static_cast<std::size_t>(n), 1.0)));
    CHECK(item(program->memory(), "own").kept == whilst::lifetime::owned);
    CHECK(item(program->memory(), "together").kept == whilst::lifetime::shared);
    program.reset();
    CHECK(watched.expired());
  }
}

TEST_CASE("memory is refused while a body is recorded, by the body's name", "[arena]") {
  program_recorder record(place::host());
  whilst::buffer<control> loops(place::host(), 2);
  whilst::buffer<int> flag(place::host(), 1);
  const auto layout = [](arena_layout& memory) { return memory.take<double>(10); };
  const auto in_inner_body = [&](const auto& ask) {
    record.loop("outer", loops.data(), [&](recorder& run) {
      run.branch("sometimes", flag.data(),
                 [&](recorder& in_branch) { in_branch.loop("newton", loops.data() + 1, [&](recorder&) { ask(); }); });
    });
  };
  const auto refused = [&](const auto& ask, const std::string& doing) {
    CHECK_THROWS_WITH(in_inner_body(ask), contains(doing) && contains("the body of loop 'newton' is being recorded") &&
                                              contains("by program_recorder::arena"));
  };
  refused([&] { record.arena(layout); }, "taking a program's arena");
  refused([&] { record.parameter<float>("p", 1.0f); }, "declaring parameter 'p'");
  refused([&] { record.slot<float>("s"); }, "declaring slot 's'");
  refused([&] { const whilst::buffer<double> taken(place::host(), 10); }, "taking 80 bytes on the host");
  refused([&] { const whilst::shared_memory_block taken(place::host(), 16); }, "16 bytes of pinned memory");
  const auto in_branch = [&](const auto& ask) {
    record.branch(
        "sometimes", flag.data(), [&](recorder&) { ask(); }, [](recorder&) {});
  };
  CHECK_THROWS_WITH(in_branch([&] { record.arena(layout); }), contains("the body of branch 'sometimes'"));

  // Outside again, all of it works, and nothing that was refused has been recorded.
  const whilst::buffer<double> taken(place::host(), 10);
  CHECK(record.arena(layout) != nullptr);
  CHECK_THROWS_WITH(record.arena(layout), contains("it has one already") && contains("in one call"));
  const whilst::program program = std::move(record).finish();
  CHECK(program.explain().find("outer") == std::string::npos);
}

TEST_CASE("memory of another place, and no memory, are refused by name", "[arena]") {
  program_recorder record(place::gpu(0));
  const whilst::buffer<double> on_host(place::host(), 10);
  CHECK_THROWS_WITH(record.uses("x", on_host),
                    contains("declaring memory 'x'") && contains("it is on the host, and the program on GPU 0"));
  CHECK_THROWS_WITH(record.uses("y", std::shared_ptr<whilst::buffer<double>>()),
                    contains("declaring memory 'y'") && contains("the pointer is null"));
}

}  // namespace whilst_test
