// compiled by nvcc where CUDA is on

// When a preconditioner is made anew, by hand: it follows values, or lags behind them while solves stay fast.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "solvers/linear/values_watch.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::buffer;

namespace {

struct count_remake {
  index_type* remade;
  WHILST_HD void operator()() const { *remade += 1; }
};

/// A watch of three values, and solves that are told to have taken what they took.
template <class T>
struct watched_solves {
  way on;
  buffer<T> values;
  buffer<double> numbers;  ///< the operator's factor, the norm of the first residual
  buffer<whilst::control> loop;
  buffer<index_type> remade;
  whilst::values_watch<T> watch;
  whilst::program prepares, notes, begins;

  watched_solves(const way& on, double growth)
      : on(on),
        values(on.where, 3, std::vector<T>{1, 2, 3}.data()),
        numbers(on.where, 2, std::vector<double>{1, 1}.data()),
        loop(on.where, 1),
        remade(on.where, 1),
        watch(request(), growth),
        prepares(recorded([&](auto& run) {
          watch.record_watch(run, watch.first(), numbers.data(),
                             [&](auto& inner) { inner.once("remake", count_remake{remade.data()}); });
        })),
        notes(recorded([&](auto& run) { watch.record_note(run, loop.data(), numbers.data() + 1); })),
        begins(recorded([&](auto& run) { watch.record_beginning(run); })) {
    whilst::program first = recorded([&](auto& run) {
      watch.record_scale(run, watch.first());
      watch.record_first(run);
    });
    run(first);
  }

  whilst::solve_request<T> request() const {
    whilst::solve_request<T> made;
    made.where = on.where;
    made.rows = made.columns = made.nonzeros = 3;
    made.values = values.data();
    return made;
  }
  template <class Record>
  whilst::program recorded(const Record& steps) const {
    whilst::program_recorder record(on.where);
    steps(record);
    whilst::program made = std::move(record).finish();
    made.prepare({.how = on.how});
    return made;
  }
  void set(T first) { values.upload(std::vector<T>{first, 2, 3}.data()); }
  /// Prepares with a first value, and whether that made M anew; then the solve takes so many iterations for so many
  /// digits.
  bool solve(T first, index_type iterations, double digits) {
    return solve_to(first, iterations, std::pow(10.0, -digits));
  }
  bool solve_to(T first, index_type iterations, double last_norm, whilst::reason why = whilst::reason::running) {
    set(first);
    const index_type before = value(remade);
    run(prepares);
    whilst::control ended{};
    ended.iteration = iterations;
    ended.residual_norm = last_norm;
    ended.why = why;
    loop.upload(&ended);
    run(notes);
    return value(remade) > before;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("a preconditioner follows each change of values", "[linear]", float, double) {
  for (const way& on : ways()) {
    INFO(on.name);
    watched_solves<TestType> one(on, 0);
    CHECK_FALSE(one.solve(1, 5, 5));
    CHECK(one.solve(4, 5, 5));
    CHECK_FALSE(one.solve(4, 500, 5));
    CHECK(one.solve(1, 5, 5));
    CHECK(value(one.remade) == 2);
  }
}

TEMPLATE_TEST_CASE("a lagged preconditioner waits until solves have become slower", "[linear][sanitizer]", float,
                   double) {
  for (const way& on : ways()) {
    INFO(on.name);
    watched_solves<TestType> one(on, 1.5);
    CHECK_FALSE(one.solve(1, 10, 5));  // two iterations a digit: the measure
    CHECK_FALSE(one.solve(4, 10, 5));
    CHECK_FALSE(one.solve(5, 17, 5));   // 1.5 * 10 + 2
    CHECK_FALSE(one.solve(6, 18, 5));   // one too many
    CHECK(one.solve(7, 12, 4));         // three a digit from here on
    CHECK_FALSE(one.solve(8, 38, 8));   // 1.5 * 24 + 2
    CHECK_FALSE(one.solve(9, 4, 0.5));  // 1.5 * 1.5 + 2 is 4.25
    CHECK_FALSE(one.solve(9, 39, 8));   // too many
    CHECK_FALSE(one.solve(7, 39, 8));   // but these are the values that it is made from
    CHECK(one.solve(8, 60, 8));         // and no new measure: the next change of values has it made anew
    CHECK(value(one.remade) == 2);
  }
}

TEST_CASE("a lagged preconditioner is made anew after a solve that failed", "[linear]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const way& on : ways()) {
    INFO(on.name);
    watched_solves<double> one(on, 1.5);
    CHECK_FALSE(one.solve(1, 10, 5));
    CHECK_FALSE(one.solve_to(4, 1, 0.51));  // it has not even halved the residual
    CHECK(one.solve(5, 10, 5));
    CHECK_FALSE(one.solve_to(6, 1, nan));
    CHECK(one.solve_to(nan, 3, nan));  // whatever the values are
    CHECK(one.solve(7, 10, 5));
    // No iterations say nothing; a residual of 0 has 20 digits.
    CHECK_FALSE(one.solve_to(8, 0, HUGE_VAL));
    CHECK_FALSE(one.solve_to(9, 62, 0));  // 1.5 * 40 + 2
    CHECK_FALSE(one.solve_to(8, 63, 0));
    CHECK(one.solve(9, 10, 5));
    // One that was nearly there has not failed.
    CHECK_FALSE(one.solve_to(8, 1, 0.9, whilst::reason::converged_rtol));
    CHECK_FALSE(one.solve(9, 10, 5));
    // One that its preconditioner ended before the first iteration has.
    CHECK_FALSE(one.solve_to(8, 0, 1, whilst::reason::indefinite_preconditioner));
    CHECK(one.solve(7, 10, 5));
  }
}

TEST_CASE("a sequence of solves begins with a preconditioner of its own", "[linear]") {
  for (const way& on : ways()) {
    INFO(on.name);
    watched_solves<double> one(on, 1.5);
    CHECK_FALSE(one.solve(1, 10, 5));
    CHECK_FALSE(one.solve(4, 10, 5));
    run(one.begins);
    CHECK(one.solve(4, 10, 5));
    CHECK_FALSE(one.solve(5, 10, 5));
    run(one.begins);
    CHECK_FALSE(one.solve(4, 30, 5));  // its own values: only the measure is taken again
    CHECK_FALSE(one.solve(5, 47, 5));
  }
}

}  // namespace whilst_test
