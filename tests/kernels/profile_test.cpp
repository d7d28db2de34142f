// compiled by nvcc where CUDA is on
// The profile of a program: what ran how often and what it moved; and that the run was one.

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/kernels/nests.hpp"
#include "tests/kernels/toy.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst_test {

using whilst::executor;
using whilst::profile_row;
using whilst::recorder;

namespace {

struct scale {
  double* x;
  double factor;
  WHILST_HD void operator()(index i) const { x[i] *= factor; }
  index bytes(index n) const { return 2 * n * static_cast<index>(sizeof(double)); }
};

struct profiled {
  three_steps_memory memory;
  whilst::buffer<double> y;
  explicit profiled(place where) : memory(where, 700), y(where, 700) { y.upload(std::vector<double>(700, 1.0).data()); }

  whilst::program record(place where) {
    recorder record(where);
    record.step("halve", 700, scale{y.data(), 0.5});
    memory.method(2)(record);
    record.call("nothing", [](CUstream_st*) {});
    record.parameter(&memory.c.data()->settings, memory.settings());
    record.parameter(memory.stop_at.data(), index{5});
    return std::move(record).finish();
  }
};

const profile_row& row_of(const whilst::program_profile& profile, const std::string& name) {
  for (const profile_row& row : profile.rows)
    if (row.name == name) return row;
  throw whilst::error("no row " + name);
}

}  // namespace

TEST_CASE("a profile tells how often each step and call ran, where, and what it moved", "[profile]") {
  for (const way& w : ways()) {
    INFO(w.name);
    profiled p(w.where);
    whilst::program program = p.record(w.where);
    program.prepare({.how = w.how, .unroll = 3});
    const whilst::program_profile profile = program.profile();
    CHECK(profile.executor == (w.where.on_host() ? "host" : "stream"));
    REQUIRE(profile.rows.size() >= 5);
    CHECK(profile.rows[0].name == "halve");
    CHECK(profile.rows[0].loops.empty());
    CHECK(profile.rows[0].runs == 1);
    CHECK(profile.rows[0].bytes == 700 * 16);
    for (const char* name : {"y = x + ...", "x = y - 2", "z += x"}) {
      const profile_row& row = row_of(profile, name);
      CHECK(row.runs == 5);
      CHECK(row.loops == "three steps");
      CHECK_FALSE(row.bytes);
      CHECK(row.gigabytes_per_second() == 0);
      CHECK_FALSE(row.is_call);
    }
    CHECK(row_of(profile, "nothing").is_call);
    CHECK(row_of(profile, "nothing").runs == 1);
    double sum = 0;
    for (const profile_row& row : profile.rows) {
      CHECK(row.microseconds >= 0);
      sum += row.microseconds;
    }
    CHECK(profile.microseconds() == sum);
    const double seconds = profile.rows[0].microseconds * 1e-6;
    if (seconds > 0) CHECK(profile.rows[0].gigabytes_per_second() == Approx(700 * 16 / seconds * 1e-9));
    const std::string text = profile.text();
    for (const char* part : {"halve", "three steps:\n", "  z += x", "call nothing", "11200", "in all"})
      CHECK_THAT(text, contains(part));
  }
}

TEST_CASE("a profile is a run: the same bits, limits hold, and runs may follow", "[profile]") {
  for (const way& w : ways()) {
    INFO(w.name);
    profiled p(w.where);
    whilst::program program = p.record(w.where);
    program.prepare({.how = w.how, .unroll = 3});
    const auto expected = three_steps::expected(700, 5, 2);
    for (int repeat = 0; repeat < 2; ++repeat) {
      p.memory.zero();
      program.profile();
      CHECK((values(p.memory.x) == expected.x));
      CHECK((values(p.memory.z) == expected.z));
      CHECK(value(p.memory.c).iteration == 5);
      p.memory.zero();
      run(program);
      CHECK((values(p.memory.z) == expected.z));
    }
    CHECK(values(p.y)[0] == 1.0 / 16);
  }
}

TEST_CASE("a profiled loop without end stops at its limit", "[profile]") {
  for (const way& w : ways()) {
    INFO(w.name);
    check_endless(w.where, [&](const auto& method) {
      return [&w, method] {
        recorder record(w.where);
        method(record);
        whilst::program program = std::move(record).finish();
        program.prepare({.how = w.how});
        const auto profile = program.profile();
        CHECK(row_of(profile, "no verdict").runs >= 10);
      };
    });
  }
}

TEST_CASE("what is not prepared cannot be profiled", "[profile]") {
  profiled p(place::host());
  whilst::program program = p.record(place::host());
  CHECK_THROWS_WITH(program.profile(), contains("prepare()"));
}

TEST_CASE("a program lists what it takes of memory", "[profile]") {
  for (const way& w : ways()) {
    INFO(w.name);
    profiled p(w.where);
    recorder record(w.where);
    p.memory.method(2)(record);
    record.uses("an arena", p.y.data(), 5600);
    record.parameter(p.memory.stop_at.data(), index{5});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    const whilst::memory_table table = program.memory();
    const std::string where = w.where.on_host() ? "the host" : "GPU 0";
    REQUIRE(table.items.size() >= 3);
    CHECK(table.items[0].name == "an arena");
    CHECK(table.items[0].where == where);
    CHECK(table.items[0].bytes == 5600);
    CHECK(table.items[0].address == p.y.data());
    // One chunk of at most 2048 indexes each: one, two and one sums of doubles; and one word with its address.
    std::size_t sums = 0, parameters = 0, tickets = 0, graphs = 0;
    for (const whilst::memory_item& item : table.items) {
      if (item.name == "partial sums on the host") sums = item.bytes;
      if (item.name == "parameters and their addresses") parameters = item.bytes;
      if (item.name == "partial sums and tickets") tickets = item.bytes;
      graphs += item.name == "instantiated graph" && item.estimated;
    }
    CHECK(sums == (1 + 2 + 1) * sizeof(double));
    CHECK(parameters == 16);
    CHECK((tickets > 0) == !w.where.on_host());
    CHECK(graphs == (w.how == executor::graph ? 1 : 0));
    CHECK(table.bytes(where) >= 5600);
    CHECK_THAT(table.text(), contains("an arena") && contains("5600 bytes  " + where) && contains("in all"));
  }
}

TEST_CASE("a solver lists its matrix and its vectors", "[profile]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  whilst::linear_solver<double> solver(A, {.executor = "host"});
  const whilst::memory_table table = solver.memory();
  CHECK(table.items.at(0).name == "the matrix");
  CHECK(table.items[0].bytes == static_cast<std::size_t>(401 * 4 + A.nonzeros() * 12));
  CHECK(table.items.at(1).name == "vectors, scalars, controls and history");
  // x, b, r, what is kept of x; w, p, q: of 400 doubles each.
  CHECK(table.items[1].bytes >= 7 * 400 * 8);
  CHECK(table.bytes("the host") >= table.items[0].bytes + table.items[1].bytes);
}

}  // namespace whilst_test
