#pragma once

// What the tests of line searches run and compare with: a driver, the conditions, functions, and one search again, as
// its paper writes it.

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/nonlinear/line_search/line_search.hpp"

namespace whilst_test::along_a_line {

using whilst::line_search;
using whilst::line_search_kind;
using whilst::line_search_settings;
using whilst::line_search_verdict;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr line_search_kind kinds[] = {line_search_kind::backtracking, line_search_kind::strong_wolfe,
                                             line_search_kind::approximate_wolfe};

struct point {
  double value, slope;
};
using function = std::function<point(double)>;

struct outcome {
  line_search_verdict verdict;
  double step;
  std::vector<double> tried;
  bool accepted() const { return verdict == line_search_verdict::accept; }
};

/// A search as a descent loop drives it. What every search promises is checked here: finite steps within the bounds, no
/// more trials than allowed, all state in the bytes of the struct.
inline outcome search(const line_search_settings& settings, const function& f, double first_step) {
  line_search state;
  const point origin = f(0);
  state.begin(settings, origin.value, origin.slope, first_step);
  outcome result{line_search_verdict::again, 0, {}};
  while (result.verdict == line_search_verdict::again) {
    line_search copy;
    std::memcpy(static_cast<void*>(&copy), &state, sizeof state);
    REQUIRE(std::isfinite(copy.step));
    REQUIRE(copy.step >= settings.shortest);
    REQUIRE(copy.step <= settings.longest);
    result.step = copy.step;
    result.tried.push_back(copy.step);
    REQUIRE(static_cast<int>(result.tried.size()) <= settings.most_trials);
    const point at = f(copy.step);
    result.verdict = copy.judge(settings, at.value, at.slope);
    REQUIRE(copy.trials == static_cast<int>(result.tried.size()));
    state = copy;
  }
  if (result.accepted()) REQUIRE(state.step == result.step);
  return result;
}

inline bool decreases(const line_search_settings& s, const function& f, double t) {
  return f(t).value - f(0).value <= s.sufficient_decrease * t * f(0).slope;
}
/// What a kind of search promises of an accepted step, recomputed.
inline bool satisfied(const line_search_settings& s, const function& f, double t) {
  const point o = f(0), at = f(t);
  switch (s.kind) {
    case line_search_kind::backtracking:
    case line_search_kind::parallel:
      return decreases(s, f, t);
    case line_search_kind::strong_wolfe:
      return decreases(s, f, t) && std::abs(at.slope) <= -s.curvature * o.slope;
    case line_search_kind::approximate_wolfe:
      if (at.slope < s.curvature * o.slope) return false;
      return decreases(s, f, t) || (at.value <= o.value + s.value_slack * std::abs(o.value) &&
                                    at.slope <= (2 * s.sufficient_decrease - 1) * o.slope);
  }
  return false;
}

/// The functions of More and Thuente (1994), section 5, with the paper's numbers for steps 1e-3, 1e-1, 1e1, 1e3.
struct published {
  function f;
  double sufficient_decrease, curvature;
  int evaluations[4];
  double step[4];
  double unit;  ///< of the last digit of the steps in the tables
};
inline point rational(double a) {
  const double d = a * a + 2;
  return {-a / d, (a * a - 2) / (d * d)};
}
inline point quintic(double a) {
  const double s = a + 0.004;
  return {std::pow(s, 5) - 2 * std::pow(s, 4), 5 * std::pow(s, 4) - 8 * std::pow(s, 3)};
}
inline point wavy(double a) {
  constexpr double b = 0.01, l = 39, pi = 3.14159265358979323846;
  const bool near = std::abs(a - 1) < b;
  const double value = near ? (a - 1) * (a - 1) / (2 * b) + b / 2 : std::abs(a - 1);
  const double slope = near ? (a - 1) / b : std::copysign(1, a - 1);
  return {value + 2 * (1 - b) / (l * pi) * std::sin(l * pi / 2 * a), slope + (1 - b) * std::cos(l * pi / 2 * a)};
}
inline function yanai(double b1, double b2) {
  return [=](double a) -> point {
    const double c1 = std::hypot(1, b1) - b1, c2 = std::hypot(1, b2) - b2;
    const double left = std::hypot(1 - a, b2), right = std::hypot(a, b1);
    return {c1 * left + c2 * right, c1 * (a - 1) / left + c2 * a / right};
  };
}
inline const std::vector<published>& more_and_thuente() {
  static const std::vector<published> all{
      {rational, 0.001, 0.1, {6, 3, 1, 4}, {1.4, 1.4, 10, 37}, 0},
      {quintic, 0.1, 0.1, {12, 8, 8, 11}, {1.6, 1.6, 1.6, 1.6}, 0.1},
      {wavy, 0.1, 0.1, {12, 12, 10, 13}, {1.0, 1.0, 1.0, 1.0}, 0.1},
      {yanai(0.001, 0.001), 0.001, 0.001, {4, 1, 3, 4}, {0.08, 0.10, 0.35, 0.83}, 0.01},
      {yanai(0.01, 0.001), 0.001, 0.001, {6, 3, 7, 8}, {0.075, 0.078, 0.073, 0.076}, 0.001},
      {yanai(0.001, 0.01), 0.001, 0.001, {13, 11, 8, 11}, {0.93, 0.93, 0.92, 0.92}, 0.01}};
  return all;
}
inline constexpr double published_starts[4] = {1e-3, 1e-1, 1e1, 1e3};

/// A family of functions that fall at 0, are bounded below, and have one minimum or many; some overflow far away.
inline function random_function(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  const double scale = std::pow(10, 6 * unit(random) - 3), height = std::pow(10, 4 * unit(random) - 2);
  const double a = 0.1 + unit(random), b = 4 * unit(random) - 2, c = 3 + 20 * unit(random), base = unit(random);
  const auto stretched = [=](auto&& f) {
    return [=](double t) -> point {
      const point p = f(t / scale);
      return {height * p.value, height * p.slope / scale};
    };
  };
  switch (random() % 5) {
    case 0:
      return stretched([=](double t) -> point {
        return {base + t * (-1 + t * (b + t * a)), -1 + t * (2 * b + t * 3 * a)};
      });
    case 1:
      return stretched([=](double t) -> point { return {std::exp(a * t) - 2 * t, a * std::exp(a * t) - 2}; });
    case 2:  // slopes that level off
      return stretched([=](double t) -> point {
        const double r = std::hypot(t - 1, a);
        return {base + r, (t - 1) / r};
      });
    case 3:  // bumps higher than the start
      return stretched([=](double t) -> point {
        return {base + 0.01 * a * t * t - std::sin(c * t) / c, 0.02 * a * t - std::cos(c * t)};
      });
    default:
      return stretched([=](double t) -> point {
        return {base + a * (t - 1) * (t - 1) - 0.3 * a * std::sin(c * t) / c * 3,
                2 * a * (t - 1) - 0.9 * a * std::cos(c * t)};
      });
  }
}

/// Hager and Zhang's search as their paper writes it, with a function to call: the lengths it evaluates.
struct hager_and_zhang {
  const line_search_settings& s;
  const function& f;
  std::vector<double> tried{};
  bool done = false;
  struct interval {
    double a, b;
  };

  double slope(double t) const { return f(t).slope; }
  bool high(double t) const { return f(t).value > f(0).value + s.value_slack * std::abs(f(0).value); }
  /// Evaluates at t: true where the search ends with it.
  bool evaluate(double t) {
    tried.push_back(t);
    return done = satisfied(s, f, t) || static_cast<int>(tried.size()) >= s.most_trials;
  }
  interval cut(double a, double b) {
    while (true) {
      const double d = a + s.cut * (b - a);
      if (evaluate(d) || slope(d) >= 0) return {a, d};
      (high(d) ? b : a) = d;
    }
  }
  interval update(interval i, double c) {
    if (!(c > i.a && c < i.b)) return i;
    if (evaluate(c)) return i;
    if (slope(c) >= 0) return {i.a, c};
    if (!high(c)) return {c, i.b};
    return cut(i.a, c);
  }
  /// Shared with the search, so that steps agree to the bit; quadratics check it by hand.
  double secant(double a, double b) const { return whilst::line_searches::secant(a, slope(a), b, slope(b)); }
  interval secant_twice(interval i) {
    const double c = secant(i.a, i.b);
    const interval first = update(i, c);
    if (done || (c != first.a && c != first.b)) return first;
    return update(first, c == first.b ? secant(i.b, first.b) : secant(i.a, first.a));
  }
  interval bracket(double c) {
    for (double last = 0;; last = c, c *= s.expansion) {
      if (evaluate(c) || slope(c) >= 0) return {last, c};
      if (high(c)) return cut(last, c);
    }
  }
  void run(double first_step) {
    interval i = bracket(first_step);
    while (!done) {
      interval next = secant_twice(i);
      if (!done && next.b - next.a > s.shrinkage * (i.b - i.a)) next = update(next, next.a + 0.5 * (next.b - next.a));
      i = next;
    }
  }
};

}  // namespace whilst_test::along_a_line
