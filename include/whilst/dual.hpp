#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

#include "whilst/host_device.hpp"

/// \file
/// Forward-mode automatic differentiation: numbers that carry their derivatives in K directions along.
///
/// A function that is written once for a scalar type S, as
///
///     template <class S>
///     WHILST_HD S model(const S* b, double x) { using std::exp; return b[0] * (1.0 - exp(-b[1] * x)); }
///
/// gives its value with S = double or float, its gradient too with S = dual<double, K>, and its Hessian as well with
/// S = second_order_dual<double, K>. Exact up to rounding: no step, no differences. Cost and memory grow with K for
/// each operation, with K * (K + 1) / 2 for the second order.
///
/// The functions of <cmath> that duals have are found by argument-dependent lookup; `using std::exp;` lets the same
/// text work for plain numbers. Values are computed by the same operations as plain ones, and comparisons look at
/// values alone, so a function takes the same branches with each S.
///
/// At a point where a derivative is infinite (sqrt and log at 0, asin at 1, 1 / 0), it is infinite in the directions
/// that the argument depends on, and 0 in the others, whose factor is an exact 0. Where it does not exist the choice is
/// documented at the function.
///
/// Sources: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3 and 13 (the vector
/// forward mode, second derivatives); J. Fike and J. Alonso, The Development of Hyper-Dual Numbers for Exact
/// Second-Derivative Calculations, AIAA 2011-886 (the second order as an arithmetic of numbers).

namespace whilst {

/// Names of their own, so that exp, max, ... of duals hide none of the plain ones inside namespace whilst; users write
/// whilst::dual and let argument-dependent lookup find the functions.
namespace dual_numbers {

/// The plain numbers that mix with duals. They are constants: converted to the dual's T, with derivative 0.
template <class A>
concept constant = std::is_arithmetic_v<A>;

/// A number and its first derivatives. Trivially copyable; left uninitialised by its default constructor as a plain
/// number is (`dual<T, K> x{}` is zero).
template <std::floating_point T, int K>
struct dual {
  static_assert(K >= 1, "a dual has at least one direction");
  using scalar = T;
  static constexpr int directions = K, order = 1;

  T value;
  /// Entry i: the derivative in direction i.
  T gradient[K];

  dual() = default;
  /// A constant: all derivatives are 0.
  template <constant A>
  WHILST_HD constexpr dual(A constant_value) : value(static_cast<T>(constant_value)), gradient{} {}

  /// The i-th independent variable, 0 <= i < K: derivative 1 in direction i and 0 in the others.
  WHILST_HD static constexpr dual variable(T value, int i) {
    dual x(value);
    x.gradient[i] = 1;
    return x;
  }
};

/// A number with its first and second derivatives. Otherwise as dual.
template <std::floating_point T, int K>
struct second_order_dual {
  static_assert(K >= 1, "a dual has at least one direction");
  using scalar = T;
  static constexpr int directions = K, order = 2, hessian_size = K * (K + 1) / 2;

  T value;
  /// Entry i: the derivative in direction i.
  T gradient[K];
  /// The upper triangle, row by row: (0,0) (0,1) ... (0,K-1) (1,1) ... (K-1,K-1). See packed.
  T hessian[hessian_size];

  second_order_dual() = default;
  /// A constant: all derivatives are 0.
  template <constant A>
  WHILST_HD constexpr second_order_dual(A constant_value)
      : value(static_cast<T>(constant_value)), gradient{}, hessian{} {}

  /// The i-th independent variable, 0 <= i < K: derivative 1 in direction i, and 0 in the others and in second order.
  WHILST_HD static constexpr second_order_dual variable(T value, int i) {
    second_order_dual x(value);
    x.gradient[i] = 1;
    return x;
  }

  /// Where the second derivative in directions i and j is in `hessian`; i and j in any order.
  WHILST_HD static constexpr int packed(int i, int j) {
    return i <= j ? i * (2 * K - i - 1) / 2 + j : j * (2 * K - j - 1) / 2 + i;
  }
  /// The second derivative in directions i and j, in any order.
  WHILST_HD constexpr T second(int i, int j) const { return hessian[packed(i, j)]; }
};

template <class X>
inline constexpr bool is_dual = false;
template <class T, int K>
inline constexpr bool is_dual<dual<T, K>> = true;
template <class T, int K>
inline constexpr bool is_dual<second_order_dual<T, K>> = true;

/// dual or second_order_dual: each function below is written once for both.
template <class D>
concept dual_number = is_dual<D>;

/// A dual and a plain number, in either order.
template <class X, class Y>
concept dual_and_constant = (dual_number<X> && constant<Y>) || (constant<X> && dual_number<Y>);
/// The same, or two duals of one type.
template <class X, class Y>
concept dual_operands = dual_and_constant<X, Y> ||(dual_number<X>&& std::same_as<X, Y>);
/// Which of the two is the dual.
template <class X, class Y>
using dual_of = std::conditional_t<dual_number<X>, X, Y>;

/// The value without derivatives; a plain number is its own.
template <constant A>
WHILST_HD constexpr A value_of(A x) {
  return x;
}
template <dual_number D>
WHILST_HD constexpr typename D::scalar value_of(const D& x) {
  return x.value;
}

/// Whether value and all derivatives are neither infinite nor NaN.
template <dual_number D>
WHILST_HD bool is_finite(const D& x) {
  bool finite = x.value - x.value == 0;
  for (int i = 0; i < D::directions; ++i) finite &= x.gradient[i] - x.gradient[i] == 0;
  if constexpr (D::order == 2)
    for (int k = 0; k < D::hessian_size; ++k) finite &= x.hessian[k] - x.hessian[k] == 0;
  return finite;
}

// The factors of the chain rule. Besides a plain number, there is one that is always zero, whose terms vanish when
// compiled (0 * x would not: x may be infinite), and one that may be infinite, where zero times it is to be zero.

struct zero {};
template <class T>
WHILST_HD constexpr zero operator*(zero, T) {
  return {};
}
template <class T>
WHILST_HD constexpr T operator+(T sum, zero) {
  return sum;
}

template <class T>
struct unbounded {
  T value;
};
template <class T>
WHILST_HD constexpr T operator*(unbounded<T> factor, T derivative) {
  return derivative == 0 ? T(0) : factor.value * derivative;
}
template <class T>
WHILST_HD constexpr unbounded<T> may_be_infinite(T factor) {
  return {factor};
}

/// The chain rule for f(x): from f's value, first and second derivative at x.value.
template <dual_number D, class First, class Second>
WHILST_HD D chain(const D& x, typename D::scalar f, First df, [[maybe_unused]] Second d2f) {
  D result;
  result.value = f;
  for (int i = 0; i < D::directions; ++i) result.gradient[i] = df * x.gradient[i];
  if constexpr (D::order == 2) {
    int k = 0;
    for (int i = 0; i < D::directions; ++i)
      for (int j = i; j < D::directions; ++j, ++k)
        result.hessian[k] = df * x.hessian[k] + d2f * (x.gradient[i] * x.gradient[j]);
  }
  return result;
}

/// The chain rule for f(x, y): from f's value and partial derivatives at x.value, y.value.
template <dual_number D, class X, class Y, class XX, class XY, class YY>
WHILST_HD D chain(const D& x, const D& y, typename D::scalar f, X fx, Y fy, [[maybe_unused]] XX fxx,
                  [[maybe_unused]] XY fxy, [[maybe_unused]] YY fyy) {
  D result;
  result.value = f;
  for (int i = 0; i < D::directions; ++i) result.gradient[i] = fx * x.gradient[i] + fy * y.gradient[i];
  if constexpr (D::order == 2) {
    int k = 0;
    for (int i = 0; i < D::directions; ++i)
      for (int j = i; j < D::directions; ++j, ++k)
        result.hessian[k] = fx * x.hessian[k] + fy * y.hessian[k] + fxx * (x.gradient[i] * x.gradient[j]) +
                            fxy * (x.gradient[i] * y.gradient[j] + x.gradient[j] * y.gradient[i]) +
                            fyy * (y.gradient[i] * y.gradient[j]);
  }
  return result;
}

// Arithmetic.

template <dual_number D>
WHILST_HD D operator+(const D& x) {
  return x;
}
template <dual_number D>
WHILST_HD D operator-(const D& x) {
  using T = typename D::scalar;
  return chain(x, -x.value, T(-1), zero{});
}

template <dual_number D>
WHILST_HD D operator+(const D& x, const D& y) {
  using T = typename D::scalar;
  return chain(x, y, x.value + y.value, T(1), T(1), zero{}, zero{}, zero{});
}
template <dual_number D, constant A>
WHILST_HD D operator+(const D& x, A a) {
  using T = typename D::scalar;
  return chain(x, x.value + static_cast<T>(a), T(1), zero{});
}
template <constant A, dual_number D>
WHILST_HD D operator+(A a, const D& x) {
  return x + a;
}

template <dual_number D>
WHILST_HD D operator-(const D& x, const D& y) {
  using T = typename D::scalar;
  return chain(x, y, x.value - y.value, T(1), T(-1), zero{}, zero{}, zero{});
}
template <dual_number D, constant A>
WHILST_HD D operator-(const D& x, A a) {
  using T = typename D::scalar;
  return chain(x, x.value - static_cast<T>(a), T(1), zero{});
}
template <constant A, dual_number D>
WHILST_HD D operator-(A a, const D& x) {
  using T = typename D::scalar;
  return chain(x, static_cast<T>(a) - x.value, T(-1), zero{});
}

template <dual_number D>
WHILST_HD D operator*(const D& x, const D& y) {
  using T = typename D::scalar;
  return chain(x, y, x.value * y.value, y.value, x.value, zero{}, T(1), zero{});
}
template <dual_number D, constant A>
WHILST_HD D operator*(const D& x, A a) {
  using T = typename D::scalar;
  return chain(x, x.value * static_cast<T>(a), static_cast<T>(a), zero{});
}
template <constant A, dual_number D>
WHILST_HD D operator*(A a, const D& x) {
  return x * a;
}

template <dual_number D>
WHILST_HD D operator/(const D& x, const D& y) {
  using T = typename D::scalar;
  const T f = x.value / y.value, inverse = 1 / y.value, fy = -f * inverse;
  return chain(x, y, f, may_be_infinite(inverse), may_be_infinite(fy), zero{}, may_be_infinite(-inverse * inverse),
               may_be_infinite(-2 * fy * inverse));
}
template <dual_number D, constant A>
WHILST_HD D operator/(const D& x, A a) {
  using T = typename D::scalar;
  return chain(x, x.value / static_cast<T>(a), may_be_infinite(1 / static_cast<T>(a)), zero{});
}
template <constant A, dual_number D>
WHILST_HD D operator/(A a, const D& x) {
  using T = typename D::scalar;
  const T f = static_cast<T>(a) / x.value, df = -f / x.value;
  return chain(x, f, may_be_infinite(df), may_be_infinite(-2 * df / x.value));
}

template <dual_number D, class Y>
requires dual_operands<D, Y> WHILST_HD D& operator+=(D& x, const Y& y) { return x = x + y; }
template <dual_number D, class Y>
requires dual_operands<D, Y> WHILST_HD D& operator-=(D& x, const Y& y) { return x = x - y; }
template <dual_number D, class Y>
requires dual_operands<D, Y> WHILST_HD D& operator*=(D& x, const Y& y) { return x = x * y; }
template <dual_number D, class Y>
requires dual_operands<D, Y> WHILST_HD D& operator/=(D& x, const Y& y) { return x = x / y; }

// Comparisons, of values alone: equal numbers may have different derivatives.

template <class X, class Y>
requires dual_operands<X, Y> WHILST_HD constexpr bool operator==(const X& x, const Y& y) {
  return value_of(x) == value_of(y);
}
template <class X, class Y>
requires dual_operands<X, Y> WHILST_HD constexpr bool operator!=(const X& x, const Y& y) {
  return value_of(x) != value_of(y);
}
template <class X, class Y>
requires dual_operands<X, Y> WHILST_HD constexpr bool operator<(const X& x, const Y& y) {
  return value_of(x) < value_of(y);
}
template <class X, class Y>
requires dual_operands<X, Y> WHILST_HD constexpr bool operator<=(const X& x, const Y& y) {
  return value_of(x) <= value_of(y);
}
template <class X, class Y>
requires dual_operands<X, Y> WHILST_HD constexpr bool operator>(const X& x, const Y& y) {
  return value_of(x) > value_of(y);
}
template <class X, class Y>
requires dual_operands<X, Y> WHILST_HD constexpr bool operator>=(const X& x, const Y& y) {
  return value_of(x) >= value_of(y);
}

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

/// What the powers share: x^(p - 1), and the partial derivatives of x^p by x. They are those of the polynomial for
/// p = 0, 1, 2, ... at any x, 0 and negative ones included.
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
/// b^y for a constant b. The derivatives of a negative base's powers are NaN: there are none.
template <constant A, dual_number D>
WHILST_HD D pow(A base, const D& y) {
  using T = typename D::scalar;
  const T b = static_cast<T>(base), f = std::pow(b, y.value);
  const T log_b = f == 0 ? T(0) : std::log(b);  // 0^y with y > 0: 0, and not 0 * log(0)
  return chain(y, f, may_be_infinite(log_b * f), may_be_infinite(log_b * log_b * f));
}
/// x^y. Where x is negative, derivatives are NaN in the directions that y depends on, and in the others those of
/// pow(x, constant).
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
  // By the radius and not its square, which overflows earlier.
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

// Sizes and choices.

/// At 0, where there is no derivative, 0: the middle of the two sides'.
template <dual_number D>
WHILST_HD D abs(const D& x) {
  using T = typename D::scalar;
  return chain(x, std::abs(x.value), T((x.value > 0) - (x.value < 0)), zero{});
}
/// sqrt(x^2 + y^2) without overflow. At the origin, where there are no derivatives, they are 0 as those of abs.
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

}  // namespace dual_numbers

using dual_numbers::dual;
using dual_numbers::is_finite;
using dual_numbers::second_order_dual;
using dual_numbers::value_of;

}  // namespace whilst
