// compiled by nvcc where CUDA is on
// The profile of a program: what ran how often and what it moved; and that the run was one.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst_test {

using whilst::executor;
using whilst::profile_row;
using whilst::program_recorder;

namespace {

struct scale {
  double* x;
  double factor;
  WHILST_HD void operator()(index_type i) const { x[i] *= factor; }
  index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(double)); }
};

/// A map, its finish and its sequel: y = x, then y += the sum of x.
struct handed_total {
  double total;
};
struct copy_and_sum {
  const double* x;
  double* y;
  WHILST_HD auto operator()(index_type i) const {
    y[i] = x[i];
    return whilst::sums{x[i]};
  }
  index_type bytes(index_type n) const { return 16 * n; }
};
struct hand_total {
  handed_total* handed;
  WHILST_HD void operator()(const whilst::sums<double, 1>& total, whilst::loop_state& loop) const {
    if (!loop.check()) *handed = {total[0]};
  }
};
struct add_total {
  const handed_total* handed;
  double* y;
  WHILST_HD void operator()(index_type i) const { y[i] += handed->total; }
  index_type bytes(index_type n) const { return 17 * n; }
};

struct profiled {
  three_steps_memory memory;
  whilst::buffer<double> y;
  explicit profiled(place where) : memory(where, 700), y(where, 700) { y.upload(std::vector<double>(700, 1.0).data()); }

  whilst::program record(place where) {
    program_recorder record(where);
    record.step("halve", 700, scale{y.data(), 0.5});
    memory.method(2)(record);
    record.call("nothing", [](CUstream_st*) {});
    record.parameter(&memory.c.data()->settings, memory.settings());
    record.parameter(memory.stop_at.data(), index_type{5});
    return std::move(record).finish();
  }
};

profile_row row_of(const whilst::program_profile& profile, const std::string& name) {
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
      const profile_row row = row_of(profile, name);
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
        program_recorder record(w.where);
        method(record);
        whilst::program program = std::move(record).finish();
        program.prepare({.how = w.how});
        const auto profile = program.profile();
        CHECK(row_of(profile, "no verdict").runs >= 10);
      };
    });
  }
}

TEST_CASE("a sequel that shares a kernel shares a row of the profile", "[profile]") {
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<double> x(w.where, 100), y(w.where, 100);
    whilst::buffer<control> c(w.where, 1);
    whilst::buffer<handed_total> handed(w.where, 1);
    x.upload(std::vector<double>(100, 1.0).data());
    set_limits(c, {3});
    program_recorder record(w.where);
    record.loop("adds", c.data(), [&](auto& run) {
      run.step("copy", 100, copy_and_sum{x.data(), y.data()}, hand_total{handed.data()}, "add",
               add_total{handed.data(), y.data()});
    });
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    const auto profile = program.profile();
    CHECK(value(c).iteration == 3);
    if (w.where.on_host()) {
      CHECK(row_of(profile, "copy").runs == 4);  // the last one ends with the verdict
      CHECK(row_of(profile, "copy").bytes == 1600);
      CHECK(row_of(profile, "add").runs == 3);
      CHECK(row_of(profile, "add").bytes == 1700);
      continue;
    }
    CHECK(row_of(profile, "copy; add").runs == 4);
    CHECK(row_of(profile, "copy; add").bytes == 3300);
    CHECK(std::count_if(profile.rows.begin(), profile.rows.end(),
                        [](const profile_row& row) { return row.name == "copy" || row.name == "add"; }) == 0);
  }
}

TEST_CASE("the steps of linear solvers say what they move", "[profile]") {
  const auto A = whilst::make_gallery<float>("poisson2d:20").matrix;
  const index_type matrix = A.nonzeros() * 8 + 401 * 4, vector = 400 * 4;
  const auto bytes_of_trip = [&](const std::string& method, const std::string& preconditioner) {
    whilst::linear_solver<float> solver(
        A, {.method = method, .preconditioner = preconditioner, .rtol = 1e-4, .executor = "host"});
    const auto tree = nlohmann::json::parse(solver.json());
    for (const auto& outer : tree["nodes"]) {
      if (outer["kind"] != "loop") continue;
      for (const auto& inner : outer["body"]) {
        if (inner["kind"] != "loop") continue;
        index_type sum = 0;
        for (const auto& step : inner["body"]) sum += step.at("bytes").get<index_type>();
        return sum;
      }
    }
    return index_type{0};
  };
  // Conjugate gradients: u, r and the diagonal read, w written; x, r, u, p, q read and written, w read.
  CHECK(bytes_of_trip("cg", "none") == matrix + 11 * vector);
  CHECK(bytes_of_trip("cg", "jacobi") == matrix + 15 * vector);
  // Two products, with r0 and r or s; s; then x, r and p read and written, v and t read, and with Jacobi M p and M s.
  CHECK(bytes_of_trip("bicgstab", "none") == 2 * matrix + (4 + 3 + 3 + 8) * vector);
  CHECK(bytes_of_trip("bicgstab", "jacobi") == 2 * matrix + (4 + 5 + 4 + 12) * vector);
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
    program_recorder record(w.where);
    p.memory.method(2)(record);
    record.uses("an arena", p.y.data(), 5600);
    record.parameter(p.memory.stop_at.data(), index_type{5});
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
    CHECK(parameters == sizeof(whilst::word_write));
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
  CHECK(table.items.at(1).name == "controls");
  CHECK(table.items[1].bytes >= 2 * sizeof(control));
  CHECK(table.items.at(2).name == "vectors and scalars");
  // x, b, r, what is kept of x; w, p, q: of 400 doubles each.
  CHECK(table.items[2].bytes >= 7 * 400 * 8);
  CHECK(table.bytes("the host") >= table.items[0].bytes + table.items[1].bytes + table.items[2].bytes);
}

}  // namespace whilst_test
