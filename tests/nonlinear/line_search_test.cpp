#include "whilst/nonlinear/line_search/line_search.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "tests/nonlinear/line_search_oracles.hpp"

namespace whilst_test {

using namespace along_a_line;
using along_a_line::function;  // not the one of other tests

TEST_CASE("the strong Wolfe search needs as many evaluations as More and Thuente's tables say", "[line_search]") {
  int number = 0;
  for (const published& p : more_and_thuente()) {
    ++number;
    for (int k = 0; k < 4; ++k) {
      INFO("function " << number << ", first step " << published_starts[k]);
      line_search_settings settings;
      settings.sufficient_decrease = p.sufficient_decrease;
      settings.curvature = p.curvature;
      const outcome found = search(settings, p.f, published_starts[k]);
      CHECK(found.accepted());
      CHECK(satisfied(settings, p.f, found.step));
      CHECK(static_cast<int>(found.tried.size()) == p.evaluations[k]);
      // Half of the last digit that is printed; two digits in the first table.
      const double unit = p.unit > 0 ? p.unit : p.step[k] < 5 ? 0.1 : 1;
      CHECK(std::abs(found.step - p.step[k]) <= 0.5001 * unit);
    }
  }
}

TEST_CASE("accepted steps of More and Thuente's functions satisfy each kind's conditions", "[line_search]") {
  for (const line_search_kind kind : kinds)
    for (const published& p : more_and_thuente())
      for (const double first : published_starts) {
        line_search_settings settings;
        settings.kind = kind;
        settings.sufficient_decrease = p.sufficient_decrease;
        settings.curvature = p.curvature;
        const outcome found = search(settings, p.f, first);
        INFO("kind " << static_cast<int>(kind) << ", first step " << first);
        CHECK(found.accepted());
        CHECK(satisfied(settings, p.f, found.step));
      }
}

TEST_CASE("accepted steps of random functions satisfy each kind's conditions", "[line_search]") {
  std::mt19937_64 random(2026);
  std::uniform_real_distribution<double> exponent(-6, 6);
  int exhausted = 0;
  constexpr int samples = 3000;
  for (int sample = 0; sample < samples; ++sample) {
    const function f = random_function(random);
    const double first = std::pow(10, exponent(random));
    REQUIRE(f(0).slope < 0);
    for (const line_search_kind kind : kinds)
      for (const double curvature : {0.9, 0.1}) {
        line_search_settings settings = line_search_settings::usual(kind);
        settings.curvature = curvature;
        if (curvature < settings.sufficient_decrease * 2) settings.sufficient_decrease = 0.01;
        const outcome found = search(settings, f, first);
        INFO("sample " << sample << ", kind " << static_cast<int>(kind) << ", first step " << first);
        REQUIRE(found.accepted());
        if (kind == line_search_kind::approximate_wolfe && !satisfied(settings, f, found.step)) {
          REQUIRE(static_cast<int>(found.tried.size()) == settings.most_trials);
          REQUIRE(decreases(settings, f, found.step));
          ++exhausted;
          continue;
        }
        REQUIRE(satisfied(settings, f, found.step));
      }
  }
  // Where the slope far out is that of a cubic or worse, a secant leads nowhere and halving is all the progress.
  CHECK(exhausted <= 2 * samples / 50);
}

TEST_CASE("the approximate Wolfe search tries the lengths that Hager and Zhang's text tries", "[line_search]") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-3, 3);
  std::size_t longest = 0;
  int compared = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    const function f = random_function(random);
    const double first = std::pow(10, exponent(random));
    if (!std::isfinite(f(5 * first).value)) continue;  // the paper knows no such functions
    line_search_settings settings = line_search_settings::usual(line_search_kind::approximate_wolfe);
    settings.curvature = 0.02;
    settings.sufficient_decrease = 0.01;
    settings.shortest = 1e-300;
    settings.longest = 1e300;
    hager_and_zhang oracle{settings, f};
    oracle.run(first);
    const outcome found = search(settings, f, first);
    INFO("sample " << sample << ", first step " << first);
    // The last trial of a search that runs out is for its best point, which the paper knows nothing of.
    if (static_cast<int>(oracle.tried.size()) == settings.most_trials) continue;
    REQUIRE(found.tried == oracle.tried);
    longest = std::max(longest, found.tried.size());
    compared += 1;
  }
  CHECK(compared >= 1000);
  CHECK(longest >= 8);  // or the pairs of secants and the cuts were hardly seen
}

TEST_CASE("a parabola's minimum is found in trials that can be counted by hand", "[line_search]") {
  const function parabola = [](double t) -> point { return {t * t - 2 * t, 2 * t - 2}; };
  line_search_settings settings;
  settings.curvature = 1e-3;
  const auto tried = [&](line_search_kind kind, double first) {
    settings.kind = kind;
    const outcome found = search(settings, parabola, first);
    CHECK(found.accepted());
    return found.tried;
  };
  const auto close = [](const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(a[k] == Approx(b[k]).epsilon(1e-14));
  };
  // Backtracking takes what decreases; a tenth is as far as it comes back at once.
  close(tried(line_search_kind::backtracking, 0.1), {0.1});
  close(tried(line_search_kind::backtracking, 4), {4, 1});
  close(tried(line_search_kind::backtracking, 100), {100, 10, 1});
  close(tried(line_search_kind::backtracking, 2.2), {2.2, 1});
  // The cubic is the parabola itself; five times the first length and then four times the last growth are the most.
  close(tried(line_search_kind::strong_wolfe, 10), {10, 1});
  close(tried(line_search_kind::strong_wolfe, 0.1), {0.1, 0.5, 1});
  close(tried(line_search_kind::strong_wolfe, 0.3), {0.3, 1});
  close(tried(line_search_kind::strong_wolfe, 0.6), {0.6, 1});
  // Without a bracket the next growth is at least 1.1 times the last.
  close(tried(line_search_kind::strong_wolfe, 0.12), {0.12, 0.6, 1.128, 1});
  // One secant of the slopes is exact, once there is a slope that is not negative.
  close(tried(line_search_kind::approximate_wolfe, 10), {10, 1});
  close(tried(line_search_kind::approximate_wolfe, 0.1), {0.1, 0.5, 2.5, 1});
}

TEST_CASE("backtracking's second step minimizes the cubic", "[line_search]") {
  // The parabola asks for 3/2000 and gets a tenth; from there the cubic is the function, its minimum sqrt(3 / 3000).
  const function cubic = [](double t) -> point { return {1000 * t * t * t - 3 * t, 3000 * t * t - 3}; };
  const outcome found = search(line_search_settings::usual(line_search_kind::backtracking), cubic, 1);
  CHECK(found.accepted());
  REQUIRE(found.tried.size() == 3);
  CHECK(found.tried[1] == 0.1);
  CHECK(found.tried[2] == Approx(std::sqrt(1e-3)).epsilon(1e-13));
}

namespace {

/// The step that a search asks for after these trials.
double next_step(const line_search_settings& settings, point origin, double first, const std::vector<point>& trials) {
  line_search state;
  state.begin(settings, origin.value, origin.slope, first);
  for (const point& p : trials) REQUIRE(state.judge(settings, p.value, p.slope) == line_search_verdict::again);
  return state.step;
}

}  // namespace

TEST_CASE("steps that follow from given values by hand", "[line_search]") {
  const auto backtracking = line_search_settings::usual(line_search_kind::backtracking);
  // t^2 coefficients 11 at 1 and 10 at 0.1; the cubic's minimum, 0.0505, is more than half of 0.1.
  CHECK(next_step(backtracking, {0, -1}, 1, {{10, 5}, {0, 5}}) == 0.05);

  line_search_settings strong;
  // The decrease 0.1 is not the 0.4 that is asked for: what falls is f + 0.4 t, from slope -0.6 to 0.3 with slope -0.6.
  strong.sufficient_decrease = 0.4;
  const double root = std::sqrt(2.1 * 2.1 - 0.36);
  CHECK(next_step(strong, {0, -1}, 1, {{-0.1, -1}}) == Approx(1 - (1.5 + root) / (2 * root)).epsilon(1e-13));
  strong = {};
  // Values that overflow in the formulas.
  CHECK(next_step(strong, {0, -1}, 1, {{1.7e308, 1.7e308}}) == 0.5);
  // Steeper and steeper towards a wall at 10, of which nothing is known: 2, then halfway.
  CHECK(next_step(strong, {1, -1}, 10, {{not_a_number, 0}, {-1, -2}}) == 6);
  // Once a point bounds the interval in place of the wall, the cubic through it counts: here between s and 2.
  const double s = next_step(strong, {1, -1}, 10, {{not_a_number, 0}, {3, 5}}), h = 2 - s;
  const double m0 = -1.5 * h, m1 = 5 * h, rise = 3 - 0.9, a = m0 + m1 - 2 * rise, b = 3 * rise - 2 * m0 - m1;
  const double expected = s + h * (std::sqrt(b * b - 3 * a * m0) - b) / (3 * a);
  CHECK(next_step(strong, {1, -1}, 10, {{not_a_number, 0}, {3, 5}, {0.9, -1.5}}) == Approx(expected).epsilon(1e-12));
  // Higher or less than asked for within the rounding of 1e8: the slope says farther.
  CHECK(next_step(strong, {1e8, -1e-9}, 1, {{1e8 + 6e-8, -0.95e-9}}) > 1);
  CHECK(next_step(strong, {1e8, -1e-3}, 1, {{1e8, -0.95e-3}}) > 1);
  auto approximate = line_search_settings::usual(line_search_kind::approximate_wolfe);
  approximate.value_slack = 0;
  CHECK(next_step(approximate, {1e8, -1e-9}, 1, {{1e8 + 6e-8, -0.95e-9}}) == 5);
}

TEST_CASE("an interval that has shrunk to rounding ends a search", "[line_search]") {
  // Steps up at 1, where no condition holds on either side.
  const function cliff = [](double t) -> point { return t < 1 ? point{-t, -1} : point{10 + t, 1}; };
  for (const line_search_kind kind : {line_search_kind::strong_wolfe, line_search_kind::approximate_wolfe})
    for (const double first : {0.3, 7.0}) {
      line_search_settings settings = line_search_settings::usual(kind);
      settings.most_trials = 1000;
      const outcome found = search(settings, cliff, first);
      CHECK(found.accepted());
      CHECK(found.step < 1);
      CHECK(found.step > 1 - 1e-14);
      CHECK(found.tried.size() < 130);  // 53 halvings, each perhaps after a trial that was for nothing
    }
}

TEST_CASE("a length where the function is not finite is too far", "[line_search]") {
  // Falls to 2/3; from 1 on the logarithm is infinite, then not a number.
  const function barrier = [](double t) -> point { return {-std::log(1 - t) - 3 * t, 1 / (1 - t) - 3}; };
  // The same with values for which only the slope tells, and with overflow in place of what is not a number.
  const function no_slope = [=](double t) -> point {
    return t < 1 ? barrier(t) : point{-100, t < 100 ? not_a_number : infinity};
  };
  const function overflow = [=](double t) -> point { return t < 1 ? barrier(t) : point{infinity, -3}; };
  const function lowest = [=](double t) -> point { return t < 1 ? barrier(t) : point{-infinity, -infinity}; };
  for (const line_search_kind kind : kinds)
    for (const function& f : {barrier, no_slope, overflow, lowest})
      for (const double first : {1e-8, 0.999999, 1.0, 1.5, 1e3, 1e10, 1e20}) {
        INFO("kind " << static_cast<int>(kind) << ", first step " << first);
        const line_search_settings settings = line_search_settings::usual(kind);
        const outcome found = search(settings, f, first);
        CHECK(found.accepted());
        CHECK(satisfied(settings, f, found.step));
        CHECK(found.step < 1);
      }
}

TEST_CASE("a function that falls towards a wall gives the best point before it", "[line_search]") {
  const function f = [](double t) -> point { return {std::sqrt(1 - t), -0.5 / std::sqrt(1 - t)}; };
  for (const line_search_kind kind : kinds)
    for (const double first : {1e-2, 0.7, 3.0, 1e6}) {
      INFO("kind " << static_cast<int>(kind) << ", first step " << first);
      line_search_settings settings = line_search_settings::usual(kind);
      settings.most_trials = 1000;
      const outcome found = search(settings, f, first);
      CHECK(found.accepted());
      CHECK(found.tried.size() < 250);  // (1 - 0.2)^k = epsilon at k = 162
      CHECK(decreases(settings, f, found.step));
      for (const double t : found.tried)  // of 1 the slope is infinite
        if (t < 1) CHECK(f(t).value >= f(found.step).value);
    }
}

TEST_CASE("a function without a minimum ends at the longest step, or with the last trial", "[line_search]") {
  const function line = [](double t) -> point { return {-t, -1}; };
  for (const line_search_kind kind : kinds) {
    line_search_settings settings = line_search_settings::usual(kind);
    const outcome free = search(settings, line, 1);
    CHECK(free.accepted());
    CHECK(free.step == (kind == line_search_kind::backtracking ? 1 : free.tried[free.tried.size() - 1]));
    settings.longest = 1e3;
    const outcome bounded = search(settings, line, 1);
    CHECK(bounded.accepted());
    CHECK(bounded.step == (kind == line_search_kind::backtracking ? 1 : 1e3));
  }
}

TEST_CASE("a search that cannot begin fails at once", "[line_search]") {
  for (const line_search_kind kind : kinds) {
    const line_search_settings settings = line_search_settings::usual(kind);
    const auto refused = [&](double value, double slope, double first) {
      line_search state;
      state.begin(settings, value, slope, first);
      CHECK(!state.usable);
      CHECK(state.step >= settings.shortest);
      CHECK(state.step <= settings.longest);
      return state.judge(settings, value - 1, 0) == line_search_verdict::failed;
    };
    for (const double slope : {0.0, 1.0, infinity, -infinity, not_a_number}) CHECK(refused(1, slope, 1));
    for (const double value : {infinity, -infinity, not_a_number}) CHECK(refused(value, -1, 1));
    for (const double first : {0.0, -1.0, not_a_number}) CHECK(refused(1, -1, first));
    line_search state;
    state.begin(settings, 1, -1, infinity);
    CHECK(state.step == settings.longest);
    state.begin(settings, 1, -1, 1e-300);
    CHECK(state.step == settings.shortest);
  }
}

TEST_CASE("a slope that lies makes every search fail", "[line_search]") {
  for (const line_search_kind kind : kinds)
    for (const double base : {0.0, 1.0, -1e10}) {
      INFO("kind " << static_cast<int>(kind) << ", value " << base);
      const function f = [=](double t) -> point { return {base + t, -1}; };
      CHECK(search(line_search_settings::usual(kind), f, 1).verdict == line_search_verdict::failed);
    }
}

TEST_CASE("slopes decide where rounding hides the decrease", "[line_search]") {
  // What is to be gained, 1e-9, is a fifteenth of the distance of two numbers near 1e8.
  constexpr double depth = 1e-9, distance = 1.4901161193847656e-8;
  for (const int noise : {0, 1, 5}) {  // in units of that distance; rounding = 2e-15 stands for 13
    const function f = [=](double t) -> point {
      const double random = t == 0 ? 0 : std::sin(1e6 * t);
      return {1e8 + depth * (t - 1) * (t - 1) + distance * std::round(noise * random), 2 * depth * (t - 1)};
    };
    for (const line_search_kind kind : kinds)
      for (const double first : {1e-2, 0.5, 1.0, 1.6, 30.0, 1e4}) {
        INFO("kind " << static_cast<int>(kind) << ", noise " << noise << ", first step " << first);
        const line_search_settings settings = line_search_settings::usual(kind);
        const outcome found = search(settings, f, first);
        // Backtracking does not ask for slopes, nor look for longer steps.
        if (kind == line_search_kind::backtracking && first < 0.1) continue;
        CHECK(found.accepted());
        if (kind == line_search_kind::backtracking && decreases(settings, f, found.step)) continue;
        CHECK(std::abs(f(found.step).slope) <= settings.curvature * 2 * depth);
        CHECK(std::abs(f(found.step).value - f(0).value) <= 13 * distance);
      }
  }
}

TEST_CASE("a search that runs out of trials ends on its lowest point", "[line_search]") {
  int ended_so = 0;
  for (const line_search_kind kind : kinds)
    for (int most_trials = 1; most_trials <= 8; ++most_trials)
      for (const published& p : more_and_thuente())
        for (const double first : published_starts) {
          INFO("kind " << static_cast<int>(kind) << ", trials " << most_trials << ", first step " << first);
          line_search_settings settings;
          settings.kind = kind;
          settings.most_trials = most_trials;
          settings.sufficient_decrease = 1e-3;
          settings.curvature = 2e-3;
          const outcome found = search(settings, p.f, first);  // which checks the number of trials
          double lowest = infinity, best = 0;
          for (const double t : found.tried)
            if (decreases(settings, p.f, t) && p.f(t).value < lowest) lowest = p.f(t).value, best = t;
          if (found.accepted() && satisfied(settings, p.f, found.step)) continue;
          CHECK(found.accepted() == (best > 0));
          if (best == 0) continue;
          CHECK(found.step == best);
          ++ended_so;
        }
  CHECK(ended_so >= 50);
}

}  // namespace whilst_test
