#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"
#include "whilst/derivatives/dual_number.hpp"

/// \file
/// The functions of `<cmath>` for the numbers of whilst/dual.hpp: found by argument-dependent lookup, each written once
/// for both orders.

namespace whilst::dual_numbers {

// Exponentials, logarithms, roots.

template <dual_number D>
WHILST_HD D exp(const D& x) {
  const auto f = std::exp(x.value);
  return chain(x, f, f, f);
}
template <dual_number D>
WHILST_HD D expm1(const D& x) {
  const auto df = std::exp(x.value);  // expm1(x) + 1 would cancel for x << 0
  return chain(x, std::expm1(x.value), df, df);
}
template <dual_number D>
WHILST_HD D log(const D& x) {
  const auto df = 1 / x.value;
  return chain(x, std::log(x.value), may_be_infinite(df), may_be_infinite(-df * df));
}
template <dual_number D>
WHILST_HD D log1p(const D& x) {
  const auto df = 1 / (1 + x.value);
  return chain(x, std::log1p(x.value), may_be_infinite(df), may_be_infinite(-df * df));
}
template <dual_number D>
WHILST_HD D sqrt(const D& x) {
  using T = typename D::scalar;
  const T f = std::sqrt(x.value), df = T(0.5) / f;
  return chain(x, f, may_be_infinite(df), may_be_infinite(T(-0.5) * df / x.value));
}
template <dual_number D>
WHILST_HD D cbrt(const D& x) {
  using T = typename D::scalar;
  const T f = std::cbrt(x.value), df = 1 / (3 * f * f);
  return chain(x, f, may_be_infinite(df), may_be_infinite(-2 * df / (3 * x.value)));
}

// Powers.

/// Shared by the powers: x^(p - 1), and the derivatives of x^p with respect to x. For p = 0, 1, 2, ... these are the
/// polynomial's at any x, zero and negative included.
template <class T>
struct power_by_base {
  T lower, first, second;

  WHILST_HD power_by_base(T x, T p) : lower(std::pow(x, p - 1)) {
    first = p == 0 ? T(0) : p * lower;
    second = p == 0 || p == 1 ? T(0) : x == 0 ? p * (p - 1) * std::pow(x, p - 2) : (p - 1) * first / x;
  }
};

/// x^p for a constant p. For small whole powers, products are faster.
template <dual_number D, constant A>
WHILST_HD D pow(const D& x, A exponent) {
  using T = typename D::scalar;
  const T p = static_cast<T>(exponent);
  const power_by_base<T> by_x(x.value, p);
  return chain(x, std::pow(x.value, p), may_be_infinite(by_x.first), may_be_infinite(by_x.second));
}
/// b^y for a constant b. A negative base has no derivatives: NaN.
template <constant A, dual_number D>
WHILST_HD D pow(A base, const D& y) {
  using T = typename D::scalar;
  const T b = static_cast<T>(base), f = std::pow(b, y.value);
  const T log_b = f == 0 ? T(0) : std::log(b);  // 0^y with y > 0: 0, and not 0 * log(0)
  return chain(y, f, may_be_infinite(log_b * f), may_be_infinite(log_b * log_b * f));
}
/// x^y. If x is negative, derivatives are NaN in the directions that y depends on, and those of pow(x, constant) in the
/// others.
template <dual_number D>
WHILST_HD D pow(const D& x, const D& y) {
  using T = typename D::scalar;
  const power_by_base<T> by_x(x.value, y.value);
  const T f = std::pow(x.value, y.value), log_x = std::log(x.value);
  const T fy = f == 0 ? T(0) : log_x * f, fyy = f == 0 ? T(0) : log_x * fy;
  const T fxy = by_x.lower == 0 ? T(0) : by_x.lower * (1 + y.value * log_x);
  return chain(x, y, f, may_be_infinite(by_x.first), may_be_infinite(fy), may_be_infinite(by_x.second),
               may_be_infinite(fxy), may_be_infinite(fyy));
}

// Trigonometric and hyperbolic functions.

template <dual_number D>
WHILST_HD D sin(const D& x) {
  const auto s = std::sin(x.value), c = std::cos(x.value);
  return chain(x, s, c, -s);
}
template <dual_number D>
WHILST_HD D cos(const D& x) {
  const auto s = std::sin(x.value), c = std::cos(x.value);
  return chain(x, c, -s, -c);
}
template <dual_number D>
WHILST_HD D tan(const D& x) {
  const auto f = std::tan(x.value), df = 1 + f * f;
  return chain(x, f, df, 2 * f * df);
}
template <dual_number D>
WHILST_HD D asin(const D& x) {
  const auto df = 1 / std::sqrt((1 - x.value) * (1 + x.value));
  return chain(x, std::asin(x.value), may_be_infinite(df), may_be_infinite(x.value * df * df * df));
}
template <dual_number D>
WHILST_HD D acos(const D& x) {
  const auto df = -1 / std::sqrt((1 - x.value) * (1 + x.value));
  return chain(x, std::acos(x.value), may_be_infinite(df), may_be_infinite(x.value * df * df * df));
}
template <dual_number D>
WHILST_HD D atan(const D& x) {
  const auto df = 1 / (1 + x.value * x.value);
  return chain(x, std::atan(x.value), df, -2 * x.value * df * df);
}
/// The angle of the point (x, y). At the origin there is no derivative: NaN.
template <dual_number D>
WHILST_HD D atan2(const D& y, const D& x) {
  // Divides by the radius, not its square, which overflows earlier.
  const auto r = std::hypot(x.value, y.value), fy = x.value / r / r, fx = -y.value / r / r;
  return chain(y, x, std::atan2(y.value, x.value), fy, fx, 2 * fx * fy, (fx - fy) * (fx + fy), -2 * fx * fy);
}
template <dual_number D>
WHILST_HD D sinh(const D& x) {
  const auto f = std::sinh(x.value);
  return chain(x, f, std::cosh(x.value), f);
}
template <dual_number D>
WHILST_HD D cosh(const D& x) {
  const auto f = std::cosh(x.value);
  return chain(x, f, std::sinh(x.value), f);
}
template <dual_number D>
WHILST_HD D tanh(const D& x) {
  const auto f = std::tanh(x.value), inverse_cosh = 1 / std::cosh(x.value);
  const auto df = inverse_cosh * inverse_cosh;  // 1 - f * f would cancel where f is near 1
  return chain(x, f, df, -2 * f * df);
}

// Absolute values, norms, minimum and maximum.

/// At 0, where abs has no derivative, 0: the mean of the two one-sided ones.
template <dual_number D>
WHILST_HD D abs(const D& x) {
  using T = typename D::scalar;
  return chain(x, std::abs(x.value), T((x.value > 0) - (x.value < 0)), zero{});
}
/// sqrt(x^2 + y^2) without overflow. At the origin, where no derivatives exist, they are 0, as for abs.
template <dual_number D>
WHILST_HD D hypot(const D& x, const D& y) {
  using T = typename D::scalar;
  const T f = std::hypot(x.value, y.value), r = f == 0 ? T(1) : f, c = x.value / r, s = y.value / r;
  return chain(x, y, f, c, s, s * s / r, -c * s / r, c * c / r);
}
/// The smaller one with its derivatives; of equal ones the first.
template <dual_number D>
WHILST_HD D min(const D& x, const D& y) {
  return y < x ? y : x;
}
/// The larger one with its derivatives; of equal ones the first.
template <dual_number D>
WHILST_HD D max(const D& x, const D& y) {
  return x < y ? y : x;
}

// The same with a plain number on either side.

template <class Y, class X>
requires dual_and_constant<Y, X> WHILST_HD dual_of<Y, X> atan2(const Y& y, const X& x) {
  using D = dual_of<Y, X>;
  return atan2(D(y), D(x));
}
template <class X, class Y>
requires dual_and_constant<X, Y> WHILST_HD dual_of<X, Y> hypot(const X& x, const Y& y) {
  using D = dual_of<X, Y>;
  return hypot(D(x), D(y));
}
template <class X, class Y>
requires dual_and_constant<X, Y> WHILST_HD dual_of<X, Y> min(const X& x, const Y& y) {
  using D = dual_of<X, Y>;
  return min(D(x), D(y));
}
template <class X, class Y>
requires dual_and_constant<X, Y> WHILST_HD dual_of<X, Y> max(const X& x, const Y& y) {
  using D = dual_of<X, Y>;
  return max(D(x), D(y));
}

}  // namespace whilst::dual_numbers
