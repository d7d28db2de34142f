#pragma once

// Methods with branches that have an else, choices among bodies, and bodies side by side, with what they must leave
// behind. Each check has its method run by somebody's make_run(method), as in nests.hpp.

#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"

namespace whilst_test {

/// What x counts, in the order of the bodies, and what an inner loop and a step after the choice count.
struct choice_counts {
  double *body0, *body1, *body2, *after;
};

/// A loop whose trip t (from 1) wants body (t mod 5) - 1: none, one of the three, none. The first body has its own
/// choice overwritten, the second holds a loop of two trips, the third gives the verdict in trip k.
struct choices {
  control* c;
  int* choice;
  choice_counts x;
  index_type n, k;

  struct choose {
    control* c;
    int* choice;
    WHILST_HD void operator()() const { *choice = static_cast<int>((c->iteration + 1) % 5) - 1; }
  };
  struct overwrite_and_add {
    int* choice;
    double* x;
    WHILST_HD void operator()(index_type i) const {
      if (i == 0) *choice = 1;
      x[i] += 1;
    }
  };

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("choices", c, [&](auto& run) {
      run.once("choose", choose{c, choice});
      run.select(
          "one of three", choice,
          [&](auto& run) {
            run.step("body 0", n, overwrite_and_add{choice, x.body0});
          },
          [&](auto& run) { run.loop("two trips", c + 1, [&](auto& run) { run.step("body 1", n, add_one{x.body1}); }); },
          [&](auto& run) {
            run.step("body 2", n, add_one{x.body2});
            run.once("verdict", stop_from{c, k});
          });
      run.step("after", n, add_one{x.after});
      run.once("count", count_if_running{c});
    });
  }

  /// A verdict in a trip that is the k-th or later; no count.
  struct stop_from {
    control* c;
    index_type k;
    WHILST_HD void operator()() const {
      if (c->iteration + 1 >= k) c->stop(reason::completed);
    }
  };
  struct count_if_running {
    control* c;
    WHILST_HD void operator()() const { whilst::count_iteration{}(*c); }
  };
};

template <class MakeRun>
void check_choices(place where, const MakeRun& make_run) {
  for (const index_type n : {1, 700}) {
    for (const index_type k : {1, 4, 20}) {
      INFO("n " << n << ", k " << k);
      whilst::buffer<control> c(where, 2);
      whilst::buffer<int> choice(where, 1);
      whilst::buffer<double> body0(where, n), body1(where, n), body2(where, n), after(where, n);
      set_limits(c, {1000, 2});
      make_run(choices{c.data(), choice.data(), {body0.data(), body1.data(), body2.data(), after.data()}, n, k})();
      double e0 = 0, e1 = 0, e2 = 0, e_after = 0;
      for (index_type trip = 1;; ++trip) {
        const index_type wanted = trip % 5 - 1;
        if (wanted == 0) e0 += 1;
        if (wanted == 1) e1 += 2;
        if (wanted == 2) e2 += 1;
        if (wanted == 2 && trip >= k) break;
        e_after += 1;
      }
      const auto filled = [&](double value) { return std::vector<double>(static_cast<std::size_t>(n), value); };
      CHECK((values(body0) == filled(e0)));
      CHECK((values(body1) == filled(e1)));
      CHECK((values(body2) == filled(e2)));
      CHECK((values(after) == filled(e_after)));
      CHECK(value(c).why == reason::completed);
      CHECK(value(c).iteration == static_cast<index_type>(e_after));
    }
  }
}

/// A branch with an else, at the top and in a loop, where either body clears the flag first.
struct branch_with_else {
  control* c;
  int* flag;
  double *taken, *otherwise, *at_top;
  index_type k;
  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("alternating", c, [&](auto& run) {
      run.once("odd trip?", odd_trip{c, flag});
      run.branch(
          "odd", flag,
          [&](auto& run) {
            run.step("then", 50, flip_and_add{flag, taken});
          },
          [&](auto& run) {
            run.step("else", 50, flip_and_add{flag, otherwise});
          });
      run.once("verdict", stop_at{c, k});
      run.branch(
          "not after the verdict", flag, [&](auto& run) { run.step("then", 50, add_one{taken}); },
          [&](auto& run) { run.step("else", 50, add_one{otherwise}); });
    });
    run.branch(
        "at the top", flag, [&](auto& run) { run.step("then", 50, add_one{at_top}); },
        [&](auto& run) {
          run.step("else", 50, flip_and_add{flag, at_top});
        });
  }
  struct flip_and_add {
    int* flag;
    double* x;
    WHILST_HD void operator()(index_type i) const {
      if (i == 0) *flag = 1 - *flag;
      x[i] += 1;
    }
  };
};

template <class MakeRun>
void check_branch_with_else(place where, const MakeRun& make_run) {
  for (const index_type k : {1, 2, 9}) {
    INFO("k " << k);
    whilst::buffer<control> c(where, 1);
    whilst::buffer<int> flag(where, 1);
    whilst::buffer<double> taken(where, 50), otherwise(where, 50), at_top(where, 50);
    set_limits(c, {100});
    make_run(branch_with_else{c.data(), flag.data(), taken.data(), otherwise.data(), at_top.data(), k})();
    double then_runs = 0, else_runs = 0;
    int last_flag = 0;
    for (index_type trip = 1; trip <= k; ++trip) {
      last_flag = static_cast<int>(trip % 2);
      (last_flag ? then_runs : else_runs) += 1;
      last_flag = 1 - last_flag;
      if (trip < k) (last_flag ? then_runs : else_runs) += 1;
    }
    CHECK((values(taken) == std::vector<double>(50, then_runs)));
    CHECK((values(otherwise) == std::vector<double>(50, else_runs)));
    CHECK((values(at_top) == std::vector<double>(50, 1.0)));
    CHECK(value(flag) == 1);
  }
}

/// Bodies side by side: two dependent steps; a loop; a branch and bodies of its own. What comes next needs them all.
struct side_by_side {
  control* c;
  const int* flag;
  double *x, *y, *z, *w, *sum;
  index_type n, k;

  struct twice {
    double* x;
    WHILST_HD void operator()(index_type i) const { x[i] *= 2; }
  };
  struct add_all {
    double *x, *y, *z, *w, *sum;
    WHILST_HD void operator()(index_type i) const { sum[i] += x[i] + y[i] + z[i] + w[i]; }
  };

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("trips", c, [&](auto& run) {
      run.step("sum += 1", n, add_one{sum});
      run.parallel(
          "three at once",
          [&](auto& run) {
            run.step("x += 1", n, add_one{x});
            run.step("x *= 2", n, twice{x});
          },
          [&](auto& run) { run.loop("three trips", c + 1, [&](auto& run) { run.step("y += 1", n, add_one{y}); }); },
          [&](auto& run) {
            run.branch("if set", flag, [&](auto& run) { run.step("z += 1", n, add_one{z}); });
            run.parallel(
                "two at once", [&](auto& run) { run.step("z *= 2", n, twice{z}); },
                [&](auto& run) { run.step("w += 1", n, add_one{w}, no_verdict{}); });
          });
      run.step("sum += x + y + z + w", n, add_all{x, y, z, w, sum}, stop_at{c, k});
      run.parallel("not after the verdict", [&](auto& run) { run.step("x += 1", n, add_one{x}); });
    });
  }
};

template <class MakeRun>
void check_side_by_side(place where, const MakeRun& make_run) {
  for (const index_type n : {1, 3000}) {
    constexpr index_type k = 7;
    INFO("n " << n);
    whilst::buffer<control> c(where, 2);
    whilst::buffer<int> flag(where, 1);
    whilst::buffer<double> x(where, n), y(where, n), z(where, n), w(where, n), sum(where, n);
    flag.upload(std::vector<int>{1}.data());
    set_limits(c, {100, 3});
    make_run(side_by_side{c.data(), flag.data(), x.data(), y.data(), z.data(), w.data(), sum.data(), n, k})();
    double xe = 0, ye = 0, ze = 0, we = 0, total = 0;
    for (index_type trip = 1; trip <= k; ++trip) {
      total += 1;
      xe = (xe + 1) * 2;
      ye += 3;
      ze = (ze + 1) * 2;
      we += 1;
      total += xe + ye + ze + we;
      if (trip < k) xe += 1;
    }
    CHECK(value(c).iteration == k);
    CHECK(value(c).why == reason::completed);
    CHECK((values(sum) == std::vector<double>(static_cast<std::size_t>(n), total)));
    CHECK((values(x) == std::vector<double>(static_cast<std::size_t>(n), xe)));
  }
}

}  // namespace whilst_test
