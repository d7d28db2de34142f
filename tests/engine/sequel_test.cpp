// compiled by nvcc where CUDA is on
#include <memory>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/engine/steps/resident.hpp"

namespace whilst_test {

using whilst::control;
using whilst::control_settings;
using whilst::loop_state;
using whilst::program_recorder;
using whilst::reason;
using whilst::recorder;
using whilst::sums;
using whilst::workspace;

namespace {

enum class by { thread, warp, two_warps, two_warps_of_each_block };

/// A loop whose trip is x = y + 1, in small integers, then, with what its finish makes, y = x + multiple. The finish
/// may stop the loop, and then y stays. `lanes` lanes of a team make each x.
///  `between` steps that do nothing come after each trip's.
template <int lanes_a_row, by who, int between = 0>
struct growing {
  static constexpr bool counts_runs = who == by::two_warps_of_each_block;
  struct made_of_sums {
    double multiple;
    index_type trip;
  };
  struct alignas(16) counted {
    index_type trips, nothing;
  };
  index_type n;
  double *x, *y;
  made_of_sums* made;
  const index_type* stop_at;
  control* c;
  counted* count;  ///< what a finish in halves keeps
  double* runs;    ///< of a map that counts them

  struct map {
    const double* y;
    double* x;
    WHILST_HD int lanes_wanted() const { return lanes_a_row; }
    template <class Team>
    WHILST_HD auto operator()(index_type i, const Team& team) const {
      double sum = 0;  // 1, made of all lanes' parts: one of them has it
      for (int k = team.rank(); k < 16; k += team.size()) sum += k == static_cast<int>(i % 16) ? 1 : 0;
      const double next = y[i] + team.sum(sum);
      if (team.rank() == 0) x[i] = next;
      return sums{next};
    }
  };
  /// The same without a team; it counts its runs in a vector of its own.
  struct map_of_thread {
    const double* y;
    double *x, *runs;
    template <class Team>
    WHILST_HD double read_own(index_type i, const Team& team) const {
      return team.early(runs + i);
    }
    template <class Team, class Fetched>
    WHILST_HD double read(index_type, const Team&, const Fetched&, double runs_before) const {
      return runs_before;
    }
    WHILST_HD auto operator()(index_type i, double runs_before) const {
      runs[i] = runs_before + 1;
      x[i] = y[i] + 1;
      return sums{x[i]};
    }
  };
  /// Of the trips so far, 1, 2, 3 and over again.
  struct finish_by_thread {
    made_of_sums* handed;
    const index_type* stop_at;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      if (loop.check(total[0])) return;
      if (loop.iteration == *stop_at && loop.stop(reason::completed)) return;
      *handed = {static_cast<double>(loop.iteration % 3 + 1), loop.iteration};
    }
  };
  struct finish_by_warp {
    static constexpr bool whole_warp = true;
    made_of_sums* handed;
    const index_type* stop_at;
    counted* count;
    struct alignas(16) copied {
      double nothing[2];
    };
    template <class Copy>
    WHILST_HD void copy_ahead(copied&, const Copy&) const {}
    template <class Team>
    WHILST_HD void operator()(const Team& team, const sums<double, 1>& total, loop_state& loop, copied&) const {
      if (team.rank() != 0) return;
      finish_by_thread{handed, stop_at}(total, loop);
    }
  };
  /// The second half makes what is handed over before it is known whether there is a use for it.
  struct finish_in_halves {
    static constexpr bool whole_warp = true, in_halves = true;
    made_of_sums* handed;
    const index_type* stop_at;
    counted* count;
    struct alignas(16) copied {
      counted before;
      double multiple;
      int goes_on;
    };
    template <class Copy>
    WHILST_HD void copy_ahead(copied& to, const Copy& copy) const {
      copy(to.before, static_cast<const counted*>(count));
    }
    template <class Team>
    WHILST_HD void first(const Team& team, const sums<double, 1>& total, loop_state& loop, copied& to) const {
      if (team.rank() != 0) return;
      to.goes_on = !loop.check(total[0]) && !(loop.iteration == *stop_at && loop.stop(reason::completed));
    }
    template <class Team>
    WHILST_HD void second(const Team& team, const sums<double, 1>&, copied& to) const {
      if (team.rank() != 0) return;
      to.multiple = static_cast<double>(to.before.trips % 3 + 1);
      handed->trip = to.before.trips;
    }
    template <class Team>
    WHILST_HD void join(const Team& team, const loop_state&, const copied& of) const {
      if (team.rank() == 0 && of.goes_on) handed->multiple = of.multiple;
    }
    template <class Team>
    WHILST_HD void keep(const Team& team, const copied& of) const {
      if (team.rank() == 0 && of.goes_on) count->trips = of.before.trips + 1;
    }
    template <class Team>
    WHILST_HD void operator()(const Team& team, const sums<double, 1>& total, loop_state& loop, copied& copies) const {
      first(team, total, loop, copies);
      second(team, total, copies);
      team.sync();
      join(team, loop, copies);
      keep(team, copies);
    }
  };
  /// What it keeps goes to memory from one block only.
  struct finish_in_each_block : finish_in_halves {
    static constexpr bool by_each_block = true;
    using copied = typename finish_in_halves::copied;
    template <class Team>
    WHILST_HD void keep(const Team& team, copied& of) const {
      if (team.rank() == 0) of.before.trips += of.goes_on;
      team.sync();
      team.copy(*this->count, of.before);
    }
    template <class Team>
    WHILST_HD void operator()(const Team& team, const sums<double, 1>& total, loop_state& loop, copied& copies) const {
      this->first(team, total, loop, copies);
      this->second(team, total, copies);
      team.sync();
      this->join(team, loop, copies);
      keep(team, copies);
    }
  };
  struct sequel {
    const double* x;
    double* y;
    const made_of_sums* handed;
    WHILST_HD void operator()(index_type i) const { y[i] = x[i] + handed->multiple; }
  };
  struct idle {
    WHILST_HD void operator()(index_type) const {}
  };
  /// Reads before it is told.
  struct told_sequel {
    const double* x;
    double* y;
    const made_of_sums* handed;
    WHILST_HD double read(index_type i) const { return x[i]; }
    WHILST_HD void operator()(index_type i, double before, const made_of_sums& told) const {
      y[i] = before + told.multiple;
    }
  };

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("growing", c, [&](auto& inner) {
      const sequel then{x, y, made};
      if constexpr (who == by::two_warps_of_each_block) {
        inner.step("x = y + 1", n, map_of_thread{y, x, runs}, finish_in_each_block{{made, stop_at, count}},
                   "y = x + multiple", told_sequel{x, y, made});
        for (int k = 0; k < between; ++k) inner.step("between", n, idle{});
      } else if constexpr (who == by::thread) {
        inner.step("x = y + 1", n, map{y, x}, finish_by_thread{made, stop_at}, "y = x + multiple", then);
      } else {
        using finish = std::conditional_t<who == by::warp, finish_by_warp, finish_in_halves>;
        inner.step("x = y + 1", n, map{y, x}, finish{made, stop_at, count}, "y = x + multiple", then);
      }
    });
  }
};

template <class Method>
struct only_growing {
  Method method;
  template <class Team>
  WHILST_HD Method operator()(index_type, const Team&) const {
    return method;
  }
};

template <class Method>
struct memory_of {
  whilst::buffer<double> x, y, runs;
  whilst::buffer<typename Method::made_of_sums> made;
  whilst::buffer<index_type> stop_at;
  whilst::buffer<control> c;
  whilst::buffer<typename Method::counted> count;
  whilst::buffer<whilst::history_record> history;
  memory_of(whilst::place where, index_type n)
      : x(where, n),
        y(where, n),
        runs(where, n),
        made(where, 1),
        stop_at(where, 1),
        c(where, 1),
        count(where, 1),
        history(where, 4) {}
  Method method() {
    return {x.size(), x.data(), y.data(), made.data(), stop_at.data(), c.data(), count.data(), runs.data()};
  }
};

/// What a plain loop of `trips` trips leaves, and the last verdict's sum.
struct left_behind {
  std::vector<double> x, y;
  double last_sum = 0;
  left_behind(index_type n, index_type trips) : x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n)) {
    for (index_type trip = 1; trip <= trips; ++trip) {
      last_sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) last_sum += x[i] = y[i] + 1;
      if (trip == trips) return;
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] + static_cast<double>((trip - 1) % 3 + 1);
    }
  }
};

/// The history holds every so many sums, as its room allows.
template <class Method>
void check_history(const memory_of<Method>& memory, const control& c, index_type n) {
  REQUIRE(c.history_count > 0);
  for (index_type k = 0; k < c.history_count; ++k) {
    const whilst::history_record kept = values(memory.history)[static_cast<std::size_t>(k)];
    CHECK(kept.iteration == k * c.history_stride);
    CHECK(kept.residual_norm == left_behind(n, kept.iteration + 1).last_sum);
  }
}

template <class Method, class Record>
void check(const way& w, index_type n, index_type stop_at, int unroll, unsigned delays, const Record& put) {
  INFO(w.name << ", n = " << n << ", stop at " << stop_at << ", unroll " << unroll << ", delays " << delays);
  memory_of<Method> memory(w.where, n);
  memory.stop_at.upload(&stop_at);
  program_recorder record(w.where);
  put(record, memory.method());
  record.parameter(&memory.c.data()->settings,
                   control_settings{.limit = 1000, .history = memory.history.data(), .history_capacity = 4});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how, .unroll = unroll, .delay_seed = delays});
  for (int launch = 0; launch < 2; ++launch) {  // the second one begins where the first one began
    const std::vector<double> zeros(static_cast<std::size_t>(n));
    memory.x.upload(zeros.data());
    memory.y.upload(zeros.data());
    const typename Method::counted none{};
    memory.count.upload(&none);
    run(program);
    const left_behind expected(n, stop_at + 1);
    const control c = value(memory.c);
    CHECK(c.why == reason::completed);
    CHECK(c.iteration == stop_at);
    CHECK(c.residual_norm == expected.last_sum);
    CHECK((values(memory.x) == expected.x));
    CHECK((values(memory.y) == expected.y));
    check_history(memory, c, n);
    const std::vector<double> runs = values(memory.runs);
    if (Method::counts_runs) {
      const auto all = static_cast<double>((launch + 1) * (stop_at + 1));
      CHECK((runs == std::vector<double>(runs.size(), all)));
    }
  }
}

template <class Method>
void check_everywhere() {
  const auto recorded = [](recorder& record, const Method& method) { method(record); };
  for (const way& w : ways())
    // One thread, one block and not quite, one cluster of each kind and not quite, some blocks with one index a thread
    // and with two, and beyond.
    for (const index_type n : {1, 31, 64, 500, 512, 600, 2048, 3001, 8192, 9000, 10'241, 16'896, 20'011, 40'000})
      for (const index_type stop_at : {0, 1, 5})
        for (const int unroll : {1, 4}) check<Method>(w, n, stop_at, unroll, 0, recorded);
}

}  // namespace

TEST_CASE("a sequel knows what the finish made, and does not run after a verdict", "[semantics][sequel]") {
  SECTION("a thread an index, a finish on one thread") { check_everywhere<growing<1, by::thread>>(); }
  SECTION("a thread an index, a finish by a warp") { check_everywhere<growing<1, by::warp>>(); }
  SECTION("4 lanes an index") { check_everywhere<growing<4, by::thread>>(); }
  SECTION("16 lanes an index, a finish by a warp") { check_everywhere<growing<16, by::warp>>(); }
  SECTION("a thread an index, a finish by two warps") { check_everywhere<growing<1, by::two_warps>>(); }
  SECTION("a thread an index, a finish by two warps of each block") {
    check_everywhere<growing<1, by::two_warps_of_each_block>>();
  }
}

namespace {
void check_each_finish(const way& w, index_type n, index_type stop_at, int unroll, unsigned delays) {
  const auto recorded = [](recorder& record, const auto& method) { method(record); };
  check<growing<1, by::thread>>(w, n, stop_at, unroll, delays, recorded);
  check<growing<4, by::warp>>(w, n, stop_at, unroll, delays, recorded);
  check<growing<1, by::two_warps>>(w, n, stop_at, unroll, delays, recorded);
  check<growing<1, by::two_warps_of_each_block>>(w, n, stop_at, unroll, delays, recorded);
  check<growing<1, by::two_warps_of_each_block, 1>>(w, n, stop_at, unroll, delays, recorded);
  check<growing<1, by::two_warps_of_each_block, 2>>(w, n, stop_at, unroll, delays, recorded);
}
}  // namespace

TEST_CASE("a sequel waits for the finish whatever the blocks are late for", "[semantics][sequel][sanitizer]") {
  for (const way& w : ways())
    for (const index_type n : {300, 3001, 20'011})
      for (const unsigned seed : {1u, 2u, 3u}) {
        if (whilst_test::under_sanitizers && n > 10'000 && seed > 1) continue;
        check_each_finish(w, n, 20, 16, seed);
      }
}

// A race detector needs no late blocks, and would take minutes over them.
TEST_CASE("a sequel reads nothing that its finish still writes", "[semantics][sequel][race]") {
  for (const way& w : ways()) check_each_finish(w, 300, 3, 2, 0);
}

TEST_CASE("blocks that finish for themselves agree when a deadline stops them", "[semantics][sequel][sanitizer]") {
  using method = growing<1, by::two_warps_of_each_block>;
  for (const way& w : ways())
    for (const index_type n : {300, 9000, 20'011})
      for (const std::uint64_t nanoseconds : {1, 50'000, 80'000, 110'000, 200'000}) {
        INFO(w.name << ", n = " << n << ", " << nanoseconds << " ns");
        memory_of<method> memory(w.where, n);
        const index_type never = -1;
        memory.stop_at.upload(&never);
        program_recorder record(w.where);
        memory.method()(record);
        record.parameter(&memory.c.data()->settings,
                         control_settings{.limit = 1'000'000'000, .deadline_nanoseconds = nanoseconds});
        whilst::program program = std::move(record).finish();
        program.prepare({.how = w.how, .unroll = 4, .delay_seed = static_cast<unsigned>(nanoseconds)});
        run(program);
        const control c = value(memory.c);
        REQUIRE(c.why == reason::deadline);
        const left_behind expected(n, c.iteration + 1);
        CHECK((values(memory.x) == expected.x));
        CHECK((values(memory.y) == expected.y));
      }
}

TEMPLATE_TEST_CASE("within a kernel a sequel is a step", "[semantics][sequel]", (growing<1, by::thread>),
                   (growing<1, by::two_warps_of_each_block>)) {
  for (const way& w : ways())
    for (const int threads : {1, 32, 64})
      check<TestType>(w, 300, 5, 1, 0, [&](recorder& record, const TestType& method) {
        if (threads > 32) {
          record.team("in a kernel", 1, whilst::problems_by_block<only_growing<TestType>>{{method}, threads});
        } else {
          record.step("in a kernel", 1, whilst::problems_by_lanes<only_growing<TestType>>{{method}, threads});
        }
      });
}

TEST_CASE("a grid of some blocks, and no other, is split", "[semantics][sequel]") {
#if WHILST_WITH_CUDA
  if (whilst::cuda::device_count() == 0) {
    WARN("skipped: no GPU");
    return;
  }
  using method = growing<1, by::two_warps_of_each_block>;
  const method of{};
  const whilst::device_traits device = whilst::traits_of_device(0);
  const index_type most = index_type{2} * whilst::threads_spread * device.multiprocessors;
  const auto shape = [&](index_type n) {
    return whilst::map_step<method::map_of_thread, method::finish_in_each_block, method::told_sequel>(
               "x = y + 1", n, {of.y, of.x, of.runs}, {{of.made, of.stop_at, of.count}}, {of.x, of.y, of.made})
        .shape(device);
  };
  CHECK(shape(1000).form == whilst::step_form::small);
  for (const index_type n : {9000, 20'011}) {
    CHECK(shape(n).form == whilst::step_form::sums);
    CHECK(shape(n).blocks <= static_cast<unsigned>(device.multiprocessors));
  }
  CHECK(shape(most).form == whilst::step_form::sums);
  CHECK(shape(most + 1).form == whilst::step_form::large);
#else
  WARN("skipped: not a CUDA build");
#endif
}

TEST_CASE("a small grid runs a sequel without another kernel", "[semantics][sequel]") {
  for (const way& w : ways()) {
    if (w.where.on_host()) continue;
    for (const index_type n : {100, 100'000}) {
      memory_of<growing<1, by::thread>> memory(w.where, n);
      program_recorder record(w.where);
      memory.method()(record);
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how, .unroll = 1});
      CHECK_THAT(program.explain(),
                 contains(n == 100 ? "loop 'growing': 1 kernel a trip\n" : "loop 'growing': 2 kernels a trip\n"));
    }
  }
}

}  // namespace whilst_test
