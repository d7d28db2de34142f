#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "whilst/basics/error.hpp"
#include "whilst/derivatives/dual.hpp"

namespace whilst {

/// What check_derivatives found: the entry with the largest error, and whether it is within tolerance.
struct derivative_check {
  bool agrees = true;
  /// What the entry belongs to: "dual gradient", "second-order gradient", "Hessian" or "given gradient".
  std::string quantity;
  /// Which entry; the column is -1 except for a Hessian.
  int row = -1, column = -1;
  /// The entry's value, and its value by differences.
  double found = 0, expected = 0;
  /// |found - expected| over the larger of |found|, |expected| and the smallest size that differences resolve to the
  /// tolerance; infinite if either is not finite.
  double relative_error = 0;
  /// One sentence for a person.
  std::string message;
};

struct derivative_check_options {
  /// Largest relative error that passes. Central differences in double resolve no better than about 1e-9.
  double tolerance = 1e-6;
  /// K entries of a gradient written by hand, in host memory, to check as well; or null.
  const double* gradient = nullptr;
};

namespace derivative_checks {

struct difference {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();  ///< an estimate
};

/// The derivative of f by x[i], from central differences of fourth order, (8 (f(+h) - f(-h)) - (f(+2h) - f(-2h))) /
/// 12h. No one step suits every function: from a decreasing sequence of steps, takes the one with the least sum of
/// rounding error and change from the previous step (truncation). Steps that leave f's domain count as failed.
template <int K, class F>
difference differentiate(const F& f, const std::array<double, K>& x, int i) {
  constexpr int levels = 12;
  constexpr double rounding_errors = 4;  // those of f's values, in units of the last place
  const double scale = x[i] == 0 ? 1 : std::abs(x[i]);
  difference best;
  double before = std::numeric_limits<double>::quiet_NaN();
  for (int level = 0; level < levels; ++level) {
    const double h = std::ldexp(scale, -3 - 2 * level);
    double largest = 0;
    const auto at = [&](double step) {
      std::array<double, K> moved = x;
      moved[i] += step;
      const double value = f(moved);
      largest = std::max(largest, std::abs(value));
      return value;
    };
    const double value = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    const double rounding = rounding_errors * std::numeric_limits<double>::epsilon() * largest / h;
    const double error = std::abs(value - before) + rounding;
    if (error < best.error) best = {value, error};  // false for NaN
    before = value;
  }
  return best;
}

}  // namespace derivative_checks

/// Compares the derivatives from duals with differences, at one point, on the host: the gradient of dual<double, K> and
/// of second_order_dual<double, K> with central differences of f, the Hessian with those of the dual gradient, and a
/// gradient written by hand, if the options give one, with those of f.
///
/// f is called as `S f(const S* x)` with S = double, dual<double, K> and second_order_dual<double, K>; x points to K
/// numbers in host memory. Some 50 evaluations of f for each of the K (K + 3) / 2 entries: for tests, not for solves.
/// Near kinks (abs, min, max) and at the edge of a domain the differences may not exist though the derivative does.
/// Throws whilst::error where the tolerance is not a positive number.
template <int K, class F>
derivative_check check_derivatives(const F& f, const double* x, const derivative_check_options& options = {}) {
  using first = dual<double, K>;
  using second = second_order_dual<double, K>;
  if (!(options.tolerance > 0 && options.tolerance < HUGE_VAL))
    throw error("checking derivatives", "the tolerance is not a positive number", "Set one, as 1e-6");

  using point = std::array<double, K>;
  point at;
  std::copy_n(x, K, at.begin());
  const auto value = [&](const point& y) { return double(f(y.data())); };
  const auto evaluate = [&]<class S>(const point& y, S) {
    std::array<S, K> variables;
    for (int i = 0; i < K; ++i) variables[i] = S::variable(y[i], i);
    return S(f(variables.data()));
  };

  derivative_check worst;
  worst.relative_error = -1;
  const auto compare = [&](const char* quantity, int row, int column, double found,
                           const derivative_checks::difference& by_difference) {
    const double expected = by_difference.value;
    const double size = std::max({std::abs(found), std::abs(expected), by_difference.error / options.tolerance,
                                  std::numeric_limits<double>::min()});
    const double ratio = std::abs(found - expected) / size;
    const double relative_error = std::isfinite(ratio) ? ratio : HUGE_VAL;
    if (relative_error <= worst.relative_error) return;
    worst = {relative_error <= options.tolerance, quantity, row, column, found, expected, relative_error, {}};
  };

  const first f_first = evaluate(at, first{});
  const second f_second = evaluate(at, second{});
  for (int i = 0; i < K; ++i) {
    const auto expected = derivative_checks::differentiate<K>(value, at, i);
    compare("dual gradient", i, -1, f_first.gradient[i], expected);
    compare("second-order gradient", i, -1, f_second.gradient[i], expected);
    if (options.gradient) compare("given gradient", i, -1, options.gradient[i], expected);
    for (int j = i; j < K; ++j) {
      const auto slope = [&](const point& y) { return evaluate(y, first{}).gradient[i]; };
      compare("Hessian", i, j, f_second.second(i, j), derivative_checks::differentiate<K>(slope, at, j));
    }
  }

  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "%.10g where differences give %.10g, a relative error of %.2g", worst.found,
                worst.expected, worst.relative_error);
  const std::string entry =
      worst.column < 0 ? std::to_string(worst.row) : std::to_string(worst.row) + ", " + std::to_string(worst.column);
  worst.message = std::string(worst.agrees ? "all derivatives agree; the worst is the " : "the ") + worst.quantity +
                  "'s entry " + entry + (worst.agrees ? ": " : ", which is ") + numbers;
  return worst;
}

}  // namespace whilst
