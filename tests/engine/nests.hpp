#pragma once

// Methods made of loops, branches and team steps in one another, with what they must leave behind. Each check has its
// method run by somebody's make_run(method), which gives a function that runs it once: recorded or in a kernel, by one
// thread or by many.

#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::control;
using whilst::place;
using whilst::reason;

struct add_one {
  double* x;
  WHILST_HD void operator()(index_type i) const { x[i] += 1; }
};

struct no_verdict {
  WHILST_HD void operator()() const {}
};

struct stop_at_once {
  control* c;
  WHILST_HD void operator()() const { c->stop(reason::completed); }
};

/// Counts the trip as an update; stops after the k-th.
struct stop_at {
  control* c;
  index_type k;
  WHILST_HD void operator()() const {
    c->updating = 1;
    if (!c->check() && c->iteration == k) c->stop(reason::completed);
  }
};

struct odd_trip {
  control* c;
  int* flag;
  WHILST_HD void operator()() const { *flag = static_cast<int>((c->iteration + 1) % 2); }
};

/// On even trips, whose branch has no verdict: one more is complete.
struct count_even {
  control* c;
  const int* flag;
  WHILST_HD void operator()() const {
    if (!*flag) whilst::count_iteration{}(*c);
  }
};

/// Sets the limits of controls, which lie one after another.
inline void set_limits(whilst::buffer<control>& c, const std::vector<index_type>& limits) {
  std::vector<control> all = values(c);
  for (std::size_t k = 0; k < limits.size(); ++k) all[k].settings.limit = limits[k];
  c.upload(all.data());
}

struct endless {
  control* c;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("endless", c, [&](auto& run) { run.once("no verdict", no_verdict{}); });
  }
};

template <class MakeRun>
void check_endless(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 1);
  set_limits(c, {10});
  make_run(endless{c.data()})();
  CHECK(value(c).why == reason::iteration_limit);
}

struct no_finish_in_body {
  control* c;
  double* x;
  index_type n;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("count", c, [&](auto& run) { run.step("x += 1", n, add_one{x}); });
  }
};

template <class MakeRun>
void check_no_finish_in_body(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 1);
  whilst::buffer<double> x(where, 700);
  set_limits(c, {37});
  const auto run = make_run(no_finish_in_body{c.data(), x.data(), x.size()});
  run();
  run();
  CHECK((values(x) == std::vector<double>(700, 74.0)));
  CHECK(value(c).iteration == 37);
}

struct verdict_in_start {
  control* c;
  double *in_start, *in_body;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop(
        "never", c,
        [&](auto& run) {
          run.once("verdict", stop_at_once{c});
          run.step("after the verdict", 40, add_one{in_start});
        },
        [&](auto& run) { run.step("body", 40, add_one{in_body}); });
  }
};

template <class MakeRun>
void check_verdict_in_start(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 1);
  whilst::buffer<double> in_start(where, 40), in_body(where, 40);
  set_limits(c, {5});
  make_run(verdict_in_start{c.data(), in_start.data(), in_body.data()})();
  CHECK((values(in_start) == std::vector<double>(40, 0.0)));
  CHECK((values(in_body) == std::vector<double>(40, 0.0)));
  CHECK(value(c).why == reason::completed);
  CHECK(value(c).iteration == 0);
}

/// Four loops in one another, each of which counts its trips.
struct four_loops {
  control* c;
  index_type* trips;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("1", c, [&](auto& run) {
      run.once("count 1", add_to{trips, 1});
      run.loop("2", c + 1, [&](auto& run) {
        run.loop("3", c + 2, [&](auto& run) {
          run.loop("4", c + 3, [&](auto& run) {
            run.once("count 4", add_to{trips + 3, 1});
            run.once("count the iteration", whilst::count_iteration{});
          });
          run.once("count 3", add_to{trips + 2, 1});
          run.once("count the iteration", whilst::count_iteration{});
        });
        run.once("count 2", add_to{trips + 1, 1});
        run.once("count the iteration", whilst::count_iteration{});
      });
      run.once("count the iteration", whilst::count_iteration{});
    });
  }
  /// Trips at each level with these limits.
  static std::vector<index_type> expected(const std::vector<index_type>& limits) {
    std::vector<index_type> trips{limits[0]};
    for (std::size_t level = 1; level < 4; ++level) trips.push_back(trips.back() * limits[level]);
    return trips;
  }
};

template <class MakeRun>
void check_four_loops(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 4);
  whilst::buffer<index_type> trips(where, 4);
  const auto run = make_run(four_loops{c.data(), trips.data()});
  for (const auto& limits : std::vector<std::vector<index_type>>{
           {1, 1, 1, 1}, {2, 3, 2, 5}, {3, 0, 2, 2}, {2, 2, 0, 4}, {0, 3, 3, 3}, {3, 1, 2, 0}}) {
    INFO("limits " << limits[0] << limits[1] << limits[2] << limits[3]);
    trips.upload(std::vector<index_type>(4, 0).data());
    set_limits(c, limits);
    run();
    CHECK((values(trips) == four_loops::expected(limits)));
  }
}

struct branches {
  control* c;
  int* flag;
  double *taken, *late;
  index_type k;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("branches", c, [&](auto& run) {
      run.once("odd trip?", odd_trip{c, flag});
      run.branch("odd", flag, [&](auto& run) { run.step("count", 50, add_one{taken}); });
      run.once("verdict", stop_at{c, k});
      run.branch("odd, if still running", flag, [&](auto& run) { run.step("count", 50, add_one{late}); });
    });
  }
};

template <class MakeRun>
void check_branches(place where, const MakeRun& make_run) {
  for (const index_type k : {1, 2, 5, 6, 9}) {
    INFO("k " << k);
    whilst::buffer<control> c(where, 1);
    whilst::buffer<int> flag(where, 1);
    whilst::buffer<double> taken(where, 50), late(where, 50);
    set_limits(c, {100});
    make_run(branches{c.data(), flag.data(), taken.data(), late.data(), k})();
    CHECK(value(c).iteration == k);
    CHECK((values(taken) == std::vector<double>(50, static_cast<double>((k + 1) / 2))));
    CHECK((values(late) == std::vector<double>(50, static_cast<double>(k / 2))));
  }
}

/// A verdict on the outer loop from within the inner one.
struct outer_stopped_within {
  control* c;
  double* x;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("outer", c, [&](auto& run) {
      run.once("count", whilst::count_iteration{});
      run.loop("inner", c + 1, [&](auto& run) {
        run.once("count", whilst::count_iteration{});
        run.once("stop the outer loop", stop_at_once{c});
      });
      run.step("after the verdict", 10, add_one{x});
    });
  }
};

template <class MakeRun>
void check_outer_stopped_within(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 2);
  whilst::buffer<double> x(where, 10);
  set_limits(c, {5, 5});
  make_run(outer_stopped_within{c.data(), x.data()})();
  CHECK(value(c).why == reason::completed);
  CHECK(value(c).iteration == 1);
  CHECK((values(x) == std::vector<double>(10, 0.0)));
}

/// A loop whose finishes are all in a loop or a branch of its body, which do not count its trips: one that counts is
/// added.
struct finishes_further_in {
  control* c;
  const int* flag;
  double *in_loop, *in_branch;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("around a loop", c, [&](auto& run) {
      run.loop("inner", c + 1, [&](auto& run) { run.once("count", whilst::count_iteration{}); });
      run.step("x += 1", 9, add_one{in_loop});
    });
    run.loop("around a branch", c + 2, [&](auto& run) {
      run.branch("always", flag, [&](auto& run) { run.once("no verdict", no_verdict{}); });
      run.step("x += 1", 9, add_one{in_branch});
    });
  }
};

template <class MakeRun>
void check_finishes_further_in(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 3);
  whilst::buffer<int> flag(where, 1);
  whilst::buffer<double> in_loop(where, 9), in_branch(where, 9);
  flag.upload(std::vector<int>{1}.data());
  set_limits(c, {4, 2, 5});
  make_run(finishes_further_in{c.data(), flag.data(), in_loop.data(), in_branch.data()})();
  const auto controls = values(c);
  CHECK(controls[0].iteration == 4);
  CHECK(controls[2].iteration == 5);
  CHECK((values(in_loop) == std::vector<double>(9, 4.0)));
  CHECK((values(in_branch) == std::vector<double>(9, 5.0)));
}

/// A branch whose first step clears the flag that let it run.
struct flag_cleared_within {
  control* c;
  int* flag;
  double* x;
  struct set_flag {
    int* flag;
    WHILST_HD void operator()(whilst::loop_state& loop) const {
      *flag = 1;
      whilst::count_iteration{}(loop);
    }
  };
  struct clear_and_add {
    int* flag;
    double* x;
    WHILST_HD void operator()(index_type i) const {
      if (i == 0) *flag = 0;
      x[i] += 1;
    }
  };
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("loop", c, [&](auto& run) {
      run.branch("if set", flag, [&](auto& run) { run.step("clear it", 40, clear_and_add{flag, x}); });
      run.branch("not again", flag, [&](auto& run) { run.step("clear it", 40, clear_and_add{flag, x}); });
      run.once("set", set_flag{flag});
    });
  }
};

template <class MakeRun>
void check_flag_cleared_within(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 1);
  whilst::buffer<int> flag(where, 1);
  whilst::buffer<double> x(where, 40);
  set_limits(c, {20});
  make_run(flag_cleared_within{c.data(), flag.data(), x.data()})();
  // Set by the trip before: the first trip has it not.
  CHECK(value(c).iteration == 20);
  CHECK((values(x) == std::vector<double>(40, 19.0)));
}

/// Two loops, the first of which ends by its deadline; and a finish that reads all that the map of its step wrote.
struct one_after_another {
  control* c;
  double *x, *total;
  index_type n;
  struct add_up {
    const double* x;
    index_type n;
    double* total;
    WHILST_HD void operator()(whilst::loop_state& loop) const {
      for (index_type i = 0; i < n; ++i) *total += x[i];
      whilst::count_iteration{}(loop);
    }
  };
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("late", c, [&](auto& run) { run.once("count", whilst::count_iteration{}); });
    run.loop("in time", c + 1, [&](auto& run) { run.step("x += 1", n, add_one{x}, add_up{x, n, total}); });
  }
};

template <class MakeRun>
void check_one_after_another(place where, const MakeRun& make_run) {
  constexpr index_type n = 300, trips = 6;
  whilst::buffer<control> c(where, 2);
  whilst::buffer<double> x(where, n), total(where, 1);
  std::vector<control> controls(2, control{});
  controls[0].settings = {.limit = 1'000'000'000, .deadline_nanoseconds = 1};
  controls[1].settings = {.limit = trips};
  c.upload(controls.data());
  make_run(one_after_another{c.data(), x.data(), total.data(), n})();
  controls = values(c);
  CHECK(controls[0].why == reason::deadline);
  CHECK(controls[1].why == reason::iteration_limit);
  CHECK(controls[1].iteration == trips);
  CHECK(value(total) == n * trips * (trips + 1) / 2);
}

/// A loop in a branch, and a verdict in a branch.
struct loop_in_branch {
  control* c;
  int* flag;
  double *in_start, *in_loop, *after;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("outer", c, [&](auto& run) {
      run.once("odd trip?", odd_trip{c, flag});
      run.branch("odd", flag, [&](auto& run) {
        run.loop(
            "inner", c + 1, [&](auto& run) { run.step("in the start", 5, add_one{in_start}); },
            [&](auto& run) { run.step("x += 1", 5, add_one{in_loop}); });
        run.once("verdict", stop_at{c, 7});
      });
      run.step("after", 5, add_one{after});
      run.branch("odd again", flag, [&](auto& run) { run.step("after", 5, add_one{after}); });
      run.once("even trips count here", count_even{c, flag});
    });
  }
};

template <class MakeRun>
void check_loop_in_branch(place where, const MakeRun& make_run) {
  whilst::buffer<control> c(where, 2);
  whilst::buffer<int> flag(where, 1);
  whilst::buffer<double> in_start(where, 5), in_loop(where, 5), after(where, 5);
  set_limits(c, {100, 3});
  make_run(loop_in_branch{c.data(), flag.data(), in_start.data(), in_loop.data(), after.data()})();
  // Trips 1, 3, 5 and 7 are odd; the verdict of the last one holds back what follows.
  CHECK(value(c).iteration == 7);
  CHECK(value(c).why == reason::completed);
  CHECK((values(in_start) == std::vector<double>(5, 4.0)));
  CHECK((values(in_loop) == std::vector<double>(5, 12.0)));
  CHECK((values(after) == std::vector<double>(5, 6.0 + 3.0)));
}

/// Steps of whole teams in a loop: with three phases, sums and a verdict; with a finish alone; with neither.
struct team_steps {
  control* c;
  double *x, *y, *totals;
  index_type n, k;

  struct phased {
    static constexpr bool fetches_constants = false;
    [[maybe_unused]] static constexpr bool whole_block = true;
    const double* x;
    double* y;
    [[maybe_unused]] int threads_wanted() const { return 64; }
    template <class Team>
    WHILST_HD double fetch(index_type i, const Team&) const {
      return static_cast<double>(i % 5);
    }
    template <class Team>
    WHILST_HD double read(index_type i, const Team&, double fetched) const {
      return fetched * x[i];
    }
    template <class Team>
    WHILST_HD auto operator()(index_type i, const Team& team, double product) const {
      double share = 0;
      for (int j = team.rank(); j < 100; j += team.size()) share += product;
      const double total = team.sum(share);
      if (team.rank() == 0) y[i] = total;
      return whilst::sums{total, 1.0};
    }
  };
  struct verdict {
    double* totals;
    index_type k;
    WHILST_HD void operator()(const whilst::sums<double, 2>& total, whilst::loop_state& loop) const {
      totals[0] += total[0];
      totals[1] += total[1];
      loop.updating = 1;
      if (!loop.check() && loop.iteration == k) loop.stop(reason::completed);
    }
  };
  /// Each thread of the team adds a part of i.
  struct spread {
    [[maybe_unused]] static constexpr bool whole_block = true;
    double* x;
    [[maybe_unused]] int threads_wanted() const { return 96; }
    template <class Team>
    WHILST_HD void operator()(index_type i, const Team& team) const {
      const double total = team.sum(team.rank() == team.size() - 1 ? static_cast<double>(i) : 0.0);
      if (team.rank() == 0) x[i] += total;
    }
  };

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("teams", c, [&](auto& run) {
      run.team("y = 100 (i mod 5) x", n, phased{x, y}, verdict{totals, k});
      run.team("x += i", n, spread{x});
      run.team("x += i, counted", n, spread{x}, add_one_to{totals + 2});
    });
  }

  struct add_one_to {
    double* counter;
    WHILST_HD void operator()() const { *counter += 1; }
  };
};

template <class MakeRun>
void check_team_steps(place where, const MakeRun& make_run) {
  constexpr index_type n = 70, trips = 4;
  whilst::buffer<control> c(where, 1);
  whilst::buffer<double> x(where, n), y(where, n), totals(where, 3);
  set_limits(c, {100});
  make_run(team_steps{c.data(), x.data(), y.data(), totals.data(), n, trips})();
  std::vector<double> xe(n, 0.0), ye(n), totals_expected(3, 0.0);
  for (index_type trip = 1; trip <= trips; ++trip) {
    for (std::size_t i = 0; i < n; ++i) {
      ye[i] = 100 * static_cast<double>(i % 5) * xe[i];
      totals_expected[0] += ye[i];
      totals_expected[1] += 1;
    }
    if (trip == trips) break;
    for (std::size_t i = 0; i < n; ++i) xe[i] += 2 * static_cast<double>(i);
    totals_expected[2] += 1;
  }
  CHECK(value(c).iteration == trips);
  CHECK((values(x) == xe));
  CHECK((values(y) == ye));
  CHECK((values(totals) == totals_expected));
}

}  // namespace whilst_test
