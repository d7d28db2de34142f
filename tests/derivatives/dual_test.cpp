#include "whilst/dual.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/control.hpp"
#include "whilst/derivative_check.hpp"

using whilst::check_derivatives;
using whilst::dual;
using whilst::second_order_dual;
using whilst::value_of;

namespace {

using real = long double;  // of the closed forms

constexpr double inf = std::numeric_limits<double>::infinity();

/// A derivative is a product of a few factors, each from a function of the C library (within about 2 units in the last
/// place) or from a handful of roundings; sums are held against the sum of their terms' sizes.
constexpr double epsilons_of_a_derivative = 24;

template <class T>
void check_close(real found, real expected, real size) {
  const real tolerance = epsilons_of_a_derivative * std::numeric_limits<T>::epsilon();
  INFO("found " << double(found) << ", expected " << double(expected) << ", size of the terms " << double(size));
  CHECK(std::abs(found - expected) <= tolerance * size);
}

template <class D>
real second_of(const D& x, int i, int j) {
  if constexpr (D::order == 2)
    return x.second(i, j);
  else
    return 0;
}

/// A dual whose derivatives are all different and of both signs: an inner function of the chain rule.
template <class D>
D inner(double value, int seed) {
  D x(value);
  for (int i = 0; i < D::directions; ++i)
    x.gradient[i] = static_cast<typename D::scalar>(0.75 - 0.375 * ((i * 3 + seed) % 5));
  if constexpr (D::order == 2)
    for (int k = 0; k < D::hessian_size; ++k)
      x.hessian[k] = static_cast<typename D::scalar>(0.625 - 0.25 * ((k * 2 + seed) % 6));
  return x;
}

/// Calls with a zero of each type of dual that is tested.
template <class F>
void for_each_dual(const F& f) {
  f(dual<double, 1>{}), f(dual<double, 3>{}), f(dual<double, 12>{});
  f(dual<float, 1>{}), f(dual<float, 3>{}), f(dual<float, 12>{});
  f(second_order_dual<double, 1>{}), f(second_order_dual<double, 3>{}), f(second_order_dual<double, 12>{});
  f(second_order_dual<float, 1>{}), f(second_order_dual<float, 3>{}), f(second_order_dual<float, 12>{});
}

/// Holds f(x) against closed forms of the function and its first two derivatives, at each point.
template <class F, class V, class D1, class D2>
void check_unary(const char* name, const std::vector<double>& points, const F& f, const V& v, const D1& d1,
                 const D2& d2) {
  for_each_dual([&](auto zero) {
    using D = decltype(zero);
    using T = typename D::scalar;
    for (const double point : points) {
      const D x = inner<D>(point, 1), y = f(x);
      const real at = x.value, first = d1(at), second = d2(at);
      INFO(name << " at " << point << ", order " << D::order << ", K " << D::directions << ", bytes " << sizeof(T));
      check_close<T>(y.value, v(at), std::abs(v(at)));
      check_close<T>(f(x.value), v(at), std::abs(v(at)));  // the same text for plain numbers
      for (int i = 0; i < D::directions; ++i) {
        const real g = x.gradient[i];
        check_close<T>(y.gradient[i], first * g, std::abs(first * g));
        for (int j = 0; D::order == 2 && j < D::directions; ++j) {
          const real outer = second * g * x.gradient[j], kept = first * second_of(x, i, j);
          check_close<T>(second_of(y, i, j), outer + kept, std::abs(outer) + std::abs(kept));
        }
      }
    }
  });
}

struct partials {
  real v, x, y, xx, xy, yy;
};

/// The same for functions of two variables.
template <class F, class P>
void check_binary(const char* name, const std::vector<std::array<double, 2>>& points, const F& f, const P& p) {
  for_each_dual([&](auto zero) {
    using D = decltype(zero);
    using T = typename D::scalar;
    for (const auto& point : points) {
      const D x = inner<D>(point[0], 1), y = inner<D>(point[1], 3), z = f(x, y);
      const partials d = p(real(x.value), real(y.value));
      INFO(name << " at " << point[0] << ", " << point[1] << ", order " << D::order << ", K " << D::directions);
      check_close<T>(z.value, d.v, std::abs(d.v));
      check_close<T>(f(x.value, y.value), d.v, std::abs(d.v));
      for (int i = 0; i < D::directions; ++i) {
        const real terms[] = {d.x * x.gradient[i], d.y * y.gradient[i]};
        check_close<T>(z.gradient[i], terms[0] + terms[1], std::abs(terms[0]) + std::abs(terms[1]));
        for (int j = 0; D::order == 2 && j < D::directions; ++j) {
          real sum = 0, size = 0;
          for (const real term : {d.x * second_of(x, i, j), d.y * second_of(y, i, j),
                                  d.xx * x.gradient[i] * x.gradient[j], d.xy * x.gradient[i] * y.gradient[j],
                                  d.xy * x.gradient[j] * y.gradient[i], d.yy * y.gradient[i] * y.gradient[j]})
            sum += term, size += std::abs(term);
          check_close<T>(second_of(z, i, j), sum, size);
        }
      }
    }
  });
}

// A plain call with `using std::NAME`, as a user's template has it.
#define WHILST_CALL(name) \
  [](const auto&... x) {  \
    using std::name;      \
    return name(x...);    \
  }

}  // namespace

static_assert(std::is_trivially_copyable_v<dual<double, 3>> &&
              std::is_trivially_copyable_v<second_order_dual<float, 3>>);
static_assert(std::is_trivially_default_constructible_v<dual<double, 3>>, "as shared memory needs it");
static_assert(sizeof(dual<double, 3>) == 4 * sizeof(double) &&
              sizeof(second_order_dual<float, 3>) == 10 * sizeof(float));

TEST_CASE("dual: exponentials, logarithms and roots") {
  check_unary("exp", {-3, 0, 0.5, 4}, WHILST_CALL(exp), expl, expl, expl);
  check_unary("expm1", {-20, -1e-3, 0, 2}, WHILST_CALL(expm1), expm1l, expl, expl);
  check_unary(
      "log", {0.01, 1.5, 40}, WHILST_CALL(log), logl, [](real x) { return 1 / x; },
      [](real x) { return -1 / (x * x); });
  check_unary(
      "log1p", {-0.75, 0, 1e-4, 7}, WHILST_CALL(log1p), log1pl, [](real x) { return 1 / (1 + x); },
      [](real x) { return -1 / ((1 + x) * (1 + x)); });
  check_unary(
      "sqrt", {1e-4, 2, 81}, WHILST_CALL(sqrt), sqrtl, [](real x) { return powl(x, -0.5L) / 2; },
      [](real x) { return -powl(x, -1.5L) / 4; });
  check_unary(
      "cbrt", {-27, -0.01, 2}, WHILST_CALL(cbrt), cbrtl, [](real x) { return 1 / (3 * powl(cbrtl(x), 2)); },
      [](real x) { return -2 / (9 * powl(cbrtl(x), 5)); });
}

TEST_CASE("dual: trigonometric and hyperbolic functions") {
  const auto sec2 = [](real x) { return 1 / (cosl(x) * cosl(x)); };
  check_unary("sin", {-2, 0, 0.5, 30}, WHILST_CALL(sin), sinl, cosl, [](real x) { return -sinl(x); });
  check_unary(
      "cos", {-2, 0, 0.5, 30}, WHILST_CALL(cos), cosl, [](real x) { return -sinl(x); },
      [](real x) { return -cosl(x); });
  check_unary("tan", {-1.25, 0, 0.5, 4}, WHILST_CALL(tan), tanl, sec2, [&](real x) { return 2 * sec2(x) * tanl(x); });
  const auto root = [](real x) { return sqrtl(1 - x * x); };
  check_unary(
      "asin", {-0.984375, 0, 0.25}, WHILST_CALL(asin), asinl, [&](real x) { return 1 / root(x); },
      [&](real x) { return x / powl(root(x), 3); });
  check_unary(
      "acos", {-0.984375, 0, 0.25}, WHILST_CALL(acos), acosl, [&](real x) { return -1 / root(x); },
      [&](real x) { return -x / powl(root(x), 3); });
  check_unary(
      "atan", {-5, 0, 0.25, 100}, WHILST_CALL(atan), atanl, [](real x) { return 1 / (1 + x * x); },
      [](real x) { return -2 * x / powl(1 + x * x, 2); });
  check_unary("sinh", {-3, 0, 0.5}, WHILST_CALL(sinh), sinhl, coshl, sinhl);
  check_unary("cosh", {-3, 0, 0.5}, WHILST_CALL(cosh), coshl, sinhl, coshl);
  // At 12, 1 - tanh^2 would have lost all digits of a float and most of a double.
  check_unary(
      "tanh", {-12, -1, 0, 0.5}, WHILST_CALL(tanh), tanhl, [](real x) { return 1 / powl(coshl(x), 2); },
      [](real x) { return -2 * tanhl(x) / powl(coshl(x), 2); });
  check_binary("atan2", {{1, 2}, {-3, 0.5}, {0.25, -4}, {0, 2}, {-1, 0}}, WHILST_CALL(atan2), [](real y, real x) {
    const real r2 = x * x + y * y;
    return partials{atan2l(y, x),         x / r2, -y / r2, -2 * x * y / (r2 * r2), (y * y - x * x) / (r2 * r2),
                    2 * x * y / (r2 * r2)};
  });
}

TEST_CASE("dual: arithmetic") {
  const std::vector<std::array<double, 2>> points = {{2, 3}, {-0.5, 7}, {0, -4}, {1e3, 0.125}};
  check_binary(
      "+", points, [](auto x, auto y) { return x + y; }, [](real x, real y) { return partials{x + y, 1, 1, 0, 0, 0}; });
  check_binary(
      "-", points, [](auto x, auto y) { return x - y; },
      [](real x, real y) { return partials{x - y, 1, -1, 0, 0, 0}; });
  check_binary(
      "*", points, [](auto x, auto y) { return x * y; }, [](real x, real y) { return partials{x * y, y, x, 0, 1, 0}; });
  const auto quotient = [](real x, real y) {
    return partials{x / y, 1 / y, -x / (y * y), 0, -1 / (y * y), 2 * x / (y * y * y)};
  };
  check_binary(
      "/", points, [](auto x, auto y) { return x / y; }, quotient);
  check_binary(
      "+= -= *= /=", points, [](auto x, auto y) { return (((x += y) -= y) *= 2.0) /= y; },
      [&](real x, real y) {
        const partials p = quotient(x, y);
        return partials{2 * p.v, 2 * p.x, 2 * p.y, 0, 2 * p.xy, 2 * p.yy};
      });
  const auto one = [](real) { return real(1); };
  const auto none = [](real) { return real(0); };
  check_unary(
      "x + 2", {-3, 5}, [](auto x) { return x + 2; }, [](real x) { return x + 2; }, one, none);
  check_unary(
      "2 + x", {-3, 5}, [](auto x) { return 2.0f + x; }, [](real x) { return x + 2; }, one, none);
  check_unary(
      "x - 2", {-3, 5}, [](auto x) { return x - 2; }, [](real x) { return x - 2; }, one, none);
  check_unary(
      "2 - x", {-3, 5}, [](auto x) { return 2 - x; }, [](real x) { return 2 - x; }, [](real) { return real(-1); },
      none);
  check_unary(
      "-x", {-3, 5}, [](auto x) { return -x; }, [](real x) { return -x; }, [](real) { return real(-1); }, none);
  check_unary(
      "+x", {-3, 5}, [](auto x) { return +x; }, [](real x) { return x; }, one, none);
  check_unary(
      "4 x", {-3, 5}, [](auto x) { return 4 * x; }, [](real x) { return 4 * x; }, [](real) { return real(4); }, none);
  check_unary(
      "x 4", {-3, 5}, [](auto x) { return x * 4.0; }, [](real x) { return 4 * x; }, [](real) { return real(4); }, none);
  check_unary(
      "x / 4", {-3, 5}, [](auto x) { return x / 4; }, [](real x) { return x / 4; }, [](real) { return real(0.25); },
      none);
  check_unary(
      "4 / x", {-3, 5}, [](auto x) { return 4 / x; }, [](real x) { return 4 / x; }, [](real x) { return -4 / (x * x); },
      [](real x) { return 8 / (x * x * x); });
  check_unary(
      "x *= x", {-3, 5}, [](auto x) { return x *= x; }, [](real x) { return x * x; }, [](real x) { return 2 * x; },
      [](real) { return real(2); });
}

TEST_CASE("dual: powers") {
  for (const double p : {-2.0, 0.0, 0.5, 1.0, 2.0, 3.0, 7.25})
    check_unary(
        "x^p", {0.125, 1, 3},
        [p](auto x) {
          using std::pow;
          return pow(x, decltype(value_of(x))(p));
        },
        [p](real x) { return powl(x, p); }, [p](real x) { return p * powl(x, p - 1); },
        [p](real x) { return p * (p - 1) * powl(x, p - 2); });
  SECTION("whole exponents take negative bases and zero") {
    check_unary(
        "x^3", {-2, -0.25, 0},
        [](auto x) {
          using std::pow;
          return pow(x, 3);
        },
        [](real x) { return x * x * x; }, [](real x) { return 3 * x * x; }, [](real x) { return 6 * x; });
    check_unary(
        "x^2", {-2, 0},
        [](auto x) {
          using std::pow;
          return pow(x, 2.0f);
        },
        [](real x) { return x * x; }, [](real x) { return 2 * x; }, [](real) { return real(2); });
    check_unary(
        "x^1", {-2, 0},
        [](auto x) {
          using std::pow;
          return pow(x, 1L);
        },
        [](real x) { return x; }, [](real) { return real(1); }, [](real) { return real(0); });
    check_unary(
        "x^0", {-2, 0},
        [](auto x) {
          using std::pow;
          return pow(x, 0u);
        },
        [](real) { return real(1); }, [](real) { return real(0); }, [](real) { return real(0); });
    check_unary(
        "x^-1", {-2, 3},
        [](auto x) {
          using std::pow;
          return pow(x, -1);
        },
        [](real x) { return 1 / x; }, [](real x) { return -1 / (x * x); }, [](real x) { return 2 / (x * x * x); });
  }
  check_unary(
      "3^x", {-2, 0, 1.5},
      [](auto x) {
        using std::pow;
        return pow(decltype(value_of(x))(3), x);
      },
      [](real x) { return powl(3, x); }, [](real x) { return logl(3) * powl(3, x); },
      [](real x) { return logl(3) * logl(3) * powl(3, x); });
  check_unary(
      "0^x", {0.5, 3},
      [](auto x) {
        using std::pow;
        return pow(decltype(value_of(x))(0), x);
      },
      [](real) { return real(0); }, [](real) { return real(0); }, [](real) { return real(0); });
  check_binary("x^y", {{2, 3}, {0.5, -1.25}, {3, 0.75}, {1, 1}, {2, 0}, {2, 1}}, WHILST_CALL(pow), [](real x, real y) {
    const real v = powl(x, y), l = logl(x);
    return partials{v, y * v / x, l * v, y * (y - 1) * v / (x * x), v / x + y * v * l / x, l * l * v};
  });
  check_binary("0^y", {{0, 2.5}, {0, 3}}, WHILST_CALL(pow), [](real, real) { return partials{0, 0, 0, 0, 0, 0}; });
}

TEST_CASE("dual: sizes and choices") {
  const auto sign = [](real x) { return real(x < 0 ? -1 : 1); };
  const auto none = [](real) { return real(0); };
  check_unary("abs", {-3, 0.5}, WHILST_CALL(abs), fabsl, sign, none);
  const auto hypot_partials = [](real x, real y) {
    const real r = hypotl(x, y), r3 = r * r * r;
    return partials{r, x / r, y / r, y * y / r3, -x * y / r3, x * x / r3};
  };
  check_binary("hypot", {{3, 4}, {-1, 0.5}, {0, -2}}, WHILST_CALL(hypot), hypot_partials);
  const partials of_x{0, 1, 0, 0, 0, 0}, of_y{0, 0, 1, 0, 0, 0};
  const auto chosen = [](partials p, real value) {
    p.v = value;
    return p;
  };
  check_binary("min", {{1, 2}, {2, 1}, {1, 1}}, WHILST_CALL(min),
               [&](real x, real y) { return y < x ? chosen(of_y, y) : chosen(of_x, x); });
  check_binary("max", {{1, 2}, {2, 1}, {1, 1}}, WHILST_CALL(max),
               [&](real x, real y) { return x < y ? chosen(of_y, y) : chosen(of_x, x); });
}

TEST_CASE("dual: functions of a dual and a plain number, on either side") {
  for_each_dual([](auto zero) {
    using D = decltype(zero);
    const D x = inner<D>(0.5, 2);
    const auto same = [](const D& a, const D& b) {
      CHECK(a == b);
      for (int i = 0; i < D::directions; ++i) CHECK(a.gradient[i] == b.gradient[i]);
      for (int i = 0; i < D::directions; ++i) CHECK(second_of(a, i, i) == second_of(b, i, i));
    };
    same(atan2(x, 2), atan2(x, D(2)));
    same(atan2(2.0, x), atan2(D(2), x));
    same(hypot(x, 2.0f), hypot(x, D(2)));
    same(hypot(2, x), hypot(D(2), x));
    using std::max, std::min;
    same(max(x, 0), x);
    same(max(0.0, x), x);
    same(max(x, 1.0), D(1));
    same(min(x, 1.0f), x);
    same(min(1, x), x);
    same(min(0, x), D(0));
  });
}

TEST_CASE("dual: variables, constants, comparisons, values") {
  for_each_dual([](auto zero) {
    using D = decltype(zero);
    const int last = D::directions - 1;
    const D x = D::variable(2, last), c = 3.5, n{};
    CHECK(x.value == 2);
    CHECK(c.value == 3.5);
    CHECK(n.value == 0);
    for (int i = 0; i <= last; ++i) {
      CHECK(x.gradient[i] == (i == last ? 1 : 0));
      CHECK(c.gradient[i] == 0);
      CHECK(n.gradient[i] == 0);
      for (int j = 0; j <= last; ++j) CHECK((second_of(x, i, j) == 0 && second_of(c, i, j) == 0));
    }
    CHECK(value_of(x) == 2);
    CHECK(whilst::value_of(2.5f) == 2.5f);
    CHECK(value_of(3) == 3);
    CHECK((x < c && x < 3 && 1 < x && x <= c && x <= 2 && 2.0 <= x));
    CHECK_FALSE((x > c || x > 2 || 2 > x || x >= c || x >= 2.5 || 1.5f >= x));
    CHECK_FALSE((c < x || x < 2 || 2 < x || c <= x || x <= 1 || 3 <= x));
    CHECK((c > x && x > 1 && 3 > x && c >= x && x >= 2 && 2 >= x));
    CHECK((x == D(2) && x == 2 && 2.0 == x && x != c && x != 1 && 1 != x));
    CHECK_FALSE((x == c || x == 1 || 1 == x || x != D(2) || x != 2 || 2 != x));

    CHECK(whilst::is_finite(x));
    D broken = x;
    broken.gradient[last] = NAN;
    CHECK_FALSE(is_finite(broken));
    CHECK_FALSE(is_finite(1 / n));
    broken = x;
    if constexpr (D::order == 2) {
      broken.hessian[D::hessian_size - 1] = HUGE_VALF;
      CHECK_FALSE(is_finite(broken));
    }
  });
  CHECK(whilst::is_finite(1.0));  // control.hpp's, beside it
}

TEST_CASE("dual: the packed upper triangle goes row by row, for indices in any order") {
  using D = second_order_dual<double, 12>;
  int k = 0;
  for (int i = 0; i < 12; ++i)
    for (int j = i; j < 12; ++j, ++k) {
      CHECK(D::packed(i, j) == k);
      CHECK(D::packed(j, i) == k);
    }
  CHECK(k == D::hessian_size);
}

TEST_CASE("dual: edges") {
  for_each_dual([](auto zero) {
    using D = decltype(zero);
    using T = typename D::scalar;
    using std::abs;
    const auto at = [](double value) { return D::variable(static_cast<T>(value), 0); };
    // Derivatives in direction 0 are as said, and in the others, on which nothing depends, 0.
    const auto check = [](const char* what, const D& y, double value, double first, double second) {
      INFO(what << ", order " << D::order << ", K " << D::directions);
      CHECK(y.value == T(value));
      for (int i = 0; i < D::directions; ++i) {
        CHECK(y.gradient[i] == (i == 0 ? T(first) : T(0)));
        for (int j = 0; D::order == 2 && j < D::directions; ++j)
          CHECK(second_of(y, i, j) == (i + j == 0 ? T(second) : T(0)));
      }
    };
    check("sqrt(0)", sqrt(at(0)), 0, inf, -inf);
    check("sqrt(0) + 1", sqrt(at(0)) + at(1), 1, inf, -inf);
    check("-2 sqrt(0)", -2 * sqrt(at(0)), 0, -inf, inf);
    check("sqrt of a constant 0", sqrt(D(0)), 0, 0, 0);
    check("cbrt(0)", cbrt(at(0)), 0, inf, -inf);
    check("log(0)", log(at(0)), -inf, inf, -inf);
    check("log1p(-1)", log1p(at(-1)), -inf, inf, -inf);
    check("1 / 0", 1 / at(0), inf, -inf, inf);
    check("1 / 0 of duals", D(1) / at(0), inf, -inf, inf);
    check("x / 0", at(1) / 0, inf, inf, 0);
    check("x / 0 of duals", at(1) / D(0), inf, inf, 0);
    check("abs(0)", abs(at(0)), 0, 0, 0);
    check("hypot(0, 0)", hypot(at(0), at(0)), 0, 0, 0);
    check("0^0", pow(at(0), 0), 1, 0, 0);
    check("0^1", pow(at(0), 1), 0, 1, 0);
    check("0^2", pow(at(0), 2), 0, 0, 2);
    check("0^3", pow(at(0), 3), 0, 0, 0);
    check("0^1.5", pow(at(0), 1.5), 0, 0, inf);
    check("0^0.5", pow(at(0), 0.5), 0, inf, -inf);
    check("0^-1", pow(at(0), -1), inf, -inf, inf);
    check("0^2, the exponent a dual", pow(at(0), D(2)), 0, 0, 2);
    check("(-3)^2, the exponent a dual", pow(at(-3), D(2)), 9, -6, 2);
    check("0^x", pow(0, at(2)), 0, 0, 0);
    CHECK(std::isinf(asin(at(1)).gradient[0]));
    CHECK(std::isinf(acos(at(-1)).gradient[0]));
    CHECK(asin(at(1)).gradient[D::directions - 1] == (D::directions == 1 ? T(inf) : T(0)));
    CHECK(std::isnan(pow(-2, at(2)).gradient[0]));
    CHECK(std::isnan(sqrt(at(-1)).value));
    // Squares would overflow.
    const T large = std::numeric_limits<T>::max() / 4;
    CHECK(hypot(at(large), D(large)).gradient[0] == Approx(std::sqrt(0.5)));
    CHECK(is_finite(atan2(at(large), D(large))));
    CHECK(tanh(at(1e4)).gradient[0] == 0);
  });
}

namespace {

/// One text for all scalars: a model of NIST's Misra1a data, b0 (1 - exp(-b1 x)), with plain x and constants.
template <class S>
S misra(const S* b, double x) {
  using std::exp;
  return b[0] * (1.0 - exp(-b[1] * x));
}

struct rosenbrock {
  template <class S>
  S operator()(const S* x) const {
    S sum = 0;
    for (int i = 0; i < 2; ++i) {
      const S a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
      sum += a * a + 100 * b * b;
    }
    return sum;
  }
};

/// Much in one: x0 sin(x1 x2) + log(1 + x0^2) / x2.
struct mixture {
  template <class S>
  S operator()(const S* x) const {
    using std::log, std::sin;
    return x[0] * sin(x[1] * x[2]) + log(1 + x[0] * x[0]) / x[2];
  }
};

template <class D, class F>
D derive(const F& f, const std::vector<double>& x) {
  std::vector<D> variables;
  for (const double value : x)
    variables.push_back(D::variable(static_cast<typename D::scalar>(value), int(variables.size())));
  return f(variables.data());
}

/// Relative to the largest term of the sums below, all of which are within 10 times the result for these points.
constexpr double epsilons_of_a_composite = 10 * epsilons_of_a_derivative;

template <class D>
void check_derivatives_by_hand(const D& found, double value, const std::vector<double>& gradient,
                               const std::vector<double>& hessian) {
  using T = typename D::scalar;
  const double tolerance = epsilons_of_a_composite * std::numeric_limits<T>::epsilon();
  const auto close = [&](double a, double b) { return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)); };
  INFO("order " << D::order << ", bytes " << sizeof(T));
  CHECK(close(found.value, value));
  for (int i = 0; i < D::directions; ++i) {
    CHECK(close(found.gradient[i], gradient[i]));
    for (int j = 0; D::order == 2 && j < D::directions; ++j) {
      INFO("entry " << i << ", " << j << ": " << second_of(found, i, j) << " and " << hessian[i * D::directions + j]);
      CHECK(close(second_of(found, i, j), hessian[i * D::directions + j]));
    }
  }
}

template <class F>
void check_all_scalars(const F& f, const std::vector<double>& x, double value, const std::vector<double>& gradient,
                       const std::vector<double>& hessian) {
  check_derivatives_by_hand(derive<dual<double, 3>>(f, x), value, gradient, hessian);
  check_derivatives_by_hand(derive<dual<float, 3>>(f, x), value, gradient, hessian);
  check_derivatives_by_hand(derive<second_order_dual<double, 3>>(f, x), value, gradient, hessian);
  check_derivatives_by_hand(derive<second_order_dual<float, 3>>(f, x), value, gradient, hessian);
}

}  // namespace

TEST_CASE("dual: composite functions have the derivatives that were found by hand") {
  SECTION("Rosenbrock's function, in whole numbers") {
    // At (-1, 2, 3): a = 2, -1; b = 1, -1; f = 4 + 100 + 1 + 100. df/dx_i = -2 a_i - 400 x_i b_i + 200 b_(i-1), and its
    // derivatives are 2 - 400 b_i + 800 x_i^2 + 200 (of b_(i-1)) by x_i and -400 x_i by x_(i+1).
    check_all_scalars(rosenbrock{}, {-1, 2, 3}, 205, {-4 + 400, 2 + 800 + 200, -200},
                      {2 - 400 + 800, 400, 0,            //
                       400, 200 + 2 + 400 + 3200, -800,  //
                       0, -800, 200});
  }
  SECTION("a mixture of functions") {
    const double x = 0.75, y = 1.25, z = 0.5, s = std::sin(y * z), c = std::cos(y * z), q = 1 + x * x, l = std::log(q);
    check_all_scalars(mixture{}, {x, y, z}, x * s + l / z, {s + 2 * x / (q * z), x * z * c, x * y * c - l / (z * z)},
                      {2 * (1 - x * x) / (q * q * z), z * c, y * c - 2 * x / (q * z * z),  //
                       z * c, -x * z * z * s, x * c - x * y * z * s,                       //
                       y * c - 2 * x / (q * z * z), x * c - x * y * z * s, -x * y * y * s + 2 * l / (z * z * z)});
  }
  SECTION("a model with plain data and constants") {
    const double b[2] = {2, 0.25}, x = 3, e = std::exp(-b[1] * x);
    const auto check = [&](auto zero) {
      using D = decltype(zero);
      const auto f = [x](const D* at) { return misra(at, x); };
      check_derivatives_by_hand(derive<D>(f, {b[0], b[1]}), 2 * (1 - e), {1 - e, 2 * x * e},
                                {0, x * e, x * e, -2 * x * x * e});
    };
    check(dual<double, 2>{}), check(dual<float, 2>{});
    check(second_order_dual<double, 2>{}), check(second_order_dual<float, 2>{});
    CHECK(misra(b, x) == Approx(2 * (1 - e)));
    const float single[2] = {2, 0.25};
    CHECK(misra(single, x) == Approx(2 * (1 - e)));
  }
}

namespace {

// x0^2 x1, with faults where derivatives are worked out: as if one of the rules had been mistyped.

struct wrong_gradient {
  template <class S>
  S operator()(const S* x) const {
    S f = x[0] * x[0] * x[1];
    if constexpr (std::is_same_v<S, dual<double, 3>>) f.gradient[1] *= 1 + 1e-4;
    return f;
  }
};

struct wrong_hessian {
  template <class S>
  S operator()(const S* x) const {
    S f = x[0] * x[0] * x[1];
    if constexpr (std::is_same_v<S, second_order_dual<double, 3>>) f.hessian[S::packed(0, 1)] += 1e-3;
    return f;
  }
};

struct wrong_second_gradient {
  template <class S>
  S operator()(const S* x) const {
    S f = x[0] * x[0] * x[1];
    if constexpr (std::is_same_v<S, second_order_dual<double, 3>>) f.gradient[0] += 1e-3;
    return f;
  }
};

}  // namespace

TEST_CASE("derivative check: right derivatives agree, at scales from small to large") {
  const double at[] = {0.75, 1.25, 0.5};
  const auto check = check_derivatives<3>(mixture{}, at);
  INFO(check.message);
  CHECK(check.agrees);
  CHECK(check.relative_error < 1e-8);
  CHECK_THAT(check.message, whilst_test::contains("all derivatives agree"));

  const double corner[] = {0, 0, 0};
  CHECK(check_derivatives<3>(rosenbrock{}, corner).agrees);
  // As in fits to data: parameters of very different sizes, the values rounded at the size of the largest.
  const auto decay = []<class S>(const S* b) { return misra(b, 300.0); };
  const double parameters[] = {2.4e2, 5.5e-4};
  CHECK(check_derivatives<2>(decay, parameters).agrees);
  // The differences are sharp enough there to tell a fault of ten tolerances: d/db1 is b0 x exp(-b1 x).
  const double e = std::exp(-parameters[1] * 300);
  double by_hand[] = {1 - e, parameters[0] * 300 * e};
  CHECK(check_derivatives<2>(decay, parameters, {1e-6, by_hand}).agrees);
  by_hand[1] *= 1 + 1e-5;
  CHECK(check_derivatives<2>(decay, parameters, {1e-6, by_hand}).row == 1);
  CHECK_FALSE(check_derivatives<2>(decay, parameters, {1e-6, by_hand}).agrees);
  // A point far from 0 in periods of the function: steps in proportion to x would miss it.
  const auto wave = []<class S>(const S* x) {
    using std::sin;
    return sin(x[0]);
  };
  const double far[] = {1000};
  double slope[] = {std::cos(1000.0)};
  CHECK(check_derivatives<1>(wave, far, {1e-6, slope}).agrees);
  slope[0] *= 1 + 1e-5;
  CHECK_FALSE(check_derivatives<1>(wave, far, {1e-6, slope}).agrees);
  // Left of 1e-9 the logarithm does not exist.
  const double near[] = {1e-9};
  CHECK(check_derivatives<1>(
            []<class S>(const S* x) {
              using std::log;
              return log(x[0]);
            },
            near)
            .agrees);
}

TEST_CASE("derivative check: a wrong entry is found and named") {
  const double at[] = {3, 5, 7};
  SECTION("of the dual gradient") {
    const auto check = check_derivatives<3>(wrong_gradient{}, at);
    CHECK_FALSE(check.agrees);
    CHECK(check.quantity == "dual gradient");
    CHECK(check.row == 1);
    CHECK(check.column == -1);
    CHECK(check.expected == Approx(9));
    CHECK(check.found == Approx(9 * (1 + 1e-4)));
    CHECK(check.relative_error == Approx(1e-4).epsilon(1e-3));
    CHECK_THAT(check.message, whilst_test::contains("the dual gradient's entry 1, which is 9.0009 where differences"));
  }
  SECTION("of the second-order gradient") {
    const auto check = check_derivatives<3>(wrong_second_gradient{}, at);
    CHECK_FALSE(check.agrees);
    CHECK(check.quantity == "second-order gradient");
    CHECK(check.row == 0);
  }
  SECTION("of the Hessian") {
    const auto check = check_derivatives<3>(wrong_hessian{}, at);
    CHECK_FALSE(check.agrees);
    CHECK(check.quantity == "Hessian");
    CHECK((check.row == 0 && check.column == 1));
    CHECK(check.expected == Approx(6));
    CHECK(check.found == Approx(6.001));
    CHECK_THAT(check.message, whilst_test::contains("the Hessian's entry 0, 1, which is 6.001 where"));
  }
  SECTION("of a gradient by hand") {
    const auto product = []<class S>(const S* x) { return x[0] * x[0] * x[1]; };
    double by_hand[] = {30, 9, 0};
    CHECK(check_derivatives<3>(product, at, {1e-6, by_hand}).agrees);
    by_hand[2] = 1;  // the function does not depend on x[2]
    const auto check = check_derivatives<3>(product, at, {1e-6, by_hand});
    CHECK_FALSE(check.agrees);
    CHECK(check.quantity == "given gradient");
    CHECK(check.row == 2);
    CHECK(check.expected == 0);
    by_hand[2] = NAN;
    CHECK(check_derivatives<3>(product, at, {1e-6, by_hand}).relative_error == inf);
  }
}

TEST_CASE("derivative check: the tolerance is a positive number") {
  const double at[] = {1, 2, 3};
  for (const double tolerance : {0.0, -1.0, inf, double(NAN)})
    REQUIRE_THROWS_AS(check_derivatives<3>(mixture{}, at, {tolerance, nullptr}), whilst::error);
}
