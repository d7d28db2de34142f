#pragma once

#include <concepts>
#include <type_traits>

#include "whilst/basics/host_device.hpp"

/// \file
/// The numbers of whilst/dual.hpp, which explains their use: dual and second_order_dual, the chain rule, arithmetic and
/// comparisons.

namespace whilst {

/// A namespace of their own, so that exp, max, ... of duals hide none of the plain ones inside namespace whilst; users
/// write whilst::dual and let argument-dependent lookup find the functions.
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

  /// Index in `hessian` of the second derivative in directions i and j, in any order.
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
/// The dual type of the two.
template <class X, class Y>
using dual_of = std::conditional_t<dual_number<X>, X, Y>;

/// The value without derivatives; a plain number is its own value.
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

// The factors of the chain rule. Besides a plain number: one that is always zero, whose terms vanish at compile time (0
// * x would not: x may be infinite), and one that may be infinite, where zero times it must be zero.

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

}  // namespace dual_numbers

using dual_numbers::dual;
using dual_numbers::is_finite;
using dual_numbers::second_order_dual;
using dual_numbers::value_of;

}  // namespace whilst
