#pragma once

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whilst/dual.hpp"
#include "whilst/error.hpp"
#include "whilst/host_device.hpp"
#include "whilst/index.hpp"

/// The 35 problems of J. J. More, B. S. Garbow, K. E. Hillstrom, "Testing unconstrained optimization software", ACM
/// Transactions on Mathematical Software 7 (1981), in their order and by their formulas: f(x) = sum of r_i(x)^2, with
/// no factor 1/2.
///
/// A problem has
/// - `number` and `name`, those of the paper;
/// - `n`, the number of unknowns: a constant where the paper fixes it, else a member to set; and `count()`, the number
///   of residuals, for the linear functions a member `m` to set as well;
/// - `residual(i, x)`, r_i for 0 <= i < count(). x is whatever has x[j] for 0 <= j < n: a pointer to doubles, floats or
///   duals, or a window (below). What is asked of a number is + - * /, also with a double on either side, and
///   functions that are found by argument-dependent lookup; what does not depend on x is computed in double;
/// - `start(j)`, entry j of the standard starting point.
///
/// Of those of many unknowns, some are sparse: residual i reads no x[j] but those with first(i) <= j < first(i) +
/// width, of which those outside 0 .. n - 1 are not there. Its derivatives then are `residual(i, window<T, width>{x,
/// first(i)})` at a cost that does not grow with n. The others' residuals (some, or all of them) cost a time that grows
/// with n.
///
/// The unknowns are counted from 0 here, and from 1 in the paper: k = i + 1 below is its i.
namespace whilst::test_functions {

/// The number type of x[j].
template <class X>
using scalar_of = std::remove_cv_t<std::remove_reference_t<decltype(std::declval<const X&>()[index{}])>>;

/// K consecutive unknowns as variables of duals: reads x[j] with derivative 1 in direction j - first. x is not owned.
template <class T, int K>
struct window {
  const T* x;
  index first;
  WHILST_HD dual<T, K> operator[](index j) const { return dual<T, K>::variable(x[j], static_cast<int>(j - first)); }
};

/// Base of the problems whose sizes the paper fixes.
template <int N, int M>
struct fixed_size {
  static constexpr index n = N;
  WHILST_HD static constexpr index count() { return M; }
};

/// f(x), by residuals in order. x as in residual.
template <class F, class X>
WHILST_HD scalar_of<X> sum_of_squares(const F& f, const X& x) {
  scalar_of<X> sum = 0;
  for (index i = 0; i < f.count(); ++i) {
    const scalar_of<X> r = f.residual(i, x);
    sum += r * r;
  }
  return sum;
}

struct rosenbrock : fixed_size<2, 2> {
  static constexpr int number = 1;
  static constexpr const char* name = "Rosenbrock";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    return i == 0 ? S(10.0 * (x[1] - x[0] * x[0])) : S(1.0 - x[0]);
  }
  WHILST_HD double start(index j) const { return j == 0 ? -1.2 : 1; }
};

struct freudenstein_and_roth : fixed_size<2, 2> {
  static constexpr int number = 2;
  static constexpr const char* name = "Freudenstein and Roth";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    const S y = x[1];
    return i == 0 ? S(x[0] - 13.0 + ((5.0 - y) * y - 2.0) * y) : S(x[0] - 29.0 + ((y + 1.0) * y - 14.0) * y);
  }
  WHILST_HD double start(index j) const { return j == 0 ? 0.5 : -2; }
};

struct powell_badly_scaled : fixed_size<2, 2> {
  static constexpr int number = 3;
  static constexpr const char* name = "Powell badly scaled";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    return i == 0 ? S(1e4 * x[0] * x[1] - 1.0) : S(exp(-x[0]) + exp(-x[1]) - 1.0001);
  }
  WHILST_HD double start(index j) const { return j == 0 ? 0 : 1; }
};

struct brown_badly_scaled : fixed_size<2, 3> {
  static constexpr int number = 4;
  static constexpr const char* name = "Brown badly scaled";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    return i == 0 ? S(x[0] - 1e6) : i == 1 ? S(x[1] - 2e-6) : S(x[0] * x[1] - 2.0);
  }
  WHILST_HD double start(index) const { return 1; }
};

struct beale : fixed_size<2, 3> {
  static constexpr int number = 5;
  static constexpr const char* name = "Beale";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    const double y = i == 0 ? 1.5 : i == 1 ? 2.25 : 2.625;
    S power = x[1];
    for (index k = 0; k < i; ++k) power *= x[1];
    return S(y - x[0] * (1.0 - power));
  }
  WHILST_HD double start(index) const { return 1; }
};

struct jennrich_and_sampson : fixed_size<2, 10> {
  static constexpr int number = 6;
  static constexpr const char* name = "Jennrich and Sampson";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double k = static_cast<double>(i + 1);
    return S(2 + 2 * k - (exp(S(k * x[0])) + exp(S(k * x[1]))));
  }
  WHILST_HD double start(index j) const { return j == 0 ? 0.3 : 0.4; }
};

/// Not defined where x[0] is 0.
struct helical_valley : fixed_size<3, 3> {
  static constexpr int number = 7;
  static constexpr const char* name = "Helical valley";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::atan, std::sqrt;
    using S = scalar_of<X>;
    constexpr double two_pi = 6.283185307179586476925286766559;
    if (i == 2) return x[2];
    if (i == 1) return S(10.0 * (sqrt(x[0] * x[0] + x[1] * x[1]) - 1.0));
    const S turns = S(atan(S(x[1] / x[0])) / two_pi + (x[0] < 0 ? 0.5 : 0.0));
    return S(10.0 * (x[2] - 10.0 * turns));
  }
  WHILST_HD double start(index j) const { return j == 0 ? -1 : 0; }
};

struct bard : fixed_size<3, 15> {
  static constexpr int number = 8;
  static constexpr const char* name = "Bard";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    static constexpr double y[] = {0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39,
                                   0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39};
    const double u = static_cast<double>(i + 1), v = 16 - u, w = u < v ? u : v;
    return S(y[i] - (x[0] + u / (v * x[1] + w * x[2])));
  }
  WHILST_HD double start(index) const { return 1; }
};

struct gaussian : fixed_size<3, 15> {
  static constexpr int number = 9;
  static constexpr const char* name = "Gaussian";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    // Symmetric: y of entry 14 - i is that of i.
    static constexpr double y[] = {0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521, 0.3989};
    const S d = S((8 - static_cast<double>(i + 1)) / 2 - x[2]);
    return S(x[0] * exp(S(-0.5 * x[1] * d * d)) - y[i < 8 ? i : 14 - i]);
  }
  WHILST_HD double start(index j) const { return j == 0 ? 0.4 : j == 1 ? 1 : 0; }
};

struct meyer : fixed_size<3, 16> {
  static constexpr int number = 10;
  static constexpr const char* name = "Meyer";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    static constexpr double y[] = {34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744,
                                   8261,  7030,  6005,  5147,  4427,  3820,  3307,  2872};
    const double t = 45 + 5 * static_cast<double>(i + 1);
    return S(x[0] * exp(S(x[1] / (t + x[2]))) - y[i]);
  }
  WHILST_HD double start(index j) const { return j == 0 ? 0.02 : j == 1 ? 4000 : 250; }
};

/// The paper prints |y_i m i x_2| where |y_i - x_2| is meant: only with that is f zero at the minimizer that it gives.
struct gulf_research_and_development : fixed_size<3, 100> {
  static constexpr int number = 11;
  static constexpr const char* name = "Gulf research and development";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::abs, std::exp, std::pow;
    using S = scalar_of<X>;
    const double t = static_cast<double>(i + 1) / 100, y = 25 + std::pow(-50 * std::log(t), 2.0 / 3);
    return S(exp(S(-pow(S(abs(S(y - x[1]))), x[2]) / x[0])) - t);
  }
  WHILST_HD double start(index j) const { return j == 0 ? 5 : j == 1 ? 2.5 : 0.15; }
};

struct box_three_dimensional : fixed_size<3, 10> {
  static constexpr int number = 12;
  static constexpr const char* name = "Box three-dimensional";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double t = 0.1 * static_cast<double>(i + 1);
    return S(exp(S(-t * x[0])) - exp(S(-t * x[1])) - x[2] * (std::exp(-t) - std::exp(-10 * t)));
  }
  WHILST_HD double start(index j) const { return 10.0 * static_cast<double>(j); }
};

/// Of any n that 4 divides. Sparse.
struct extended_powell_singular {
  static constexpr int number = 22;
  static constexpr const char* name = "Extended Powell singular";
  static constexpr int width = 4;
  index n = 4;
  WHILST_HD index count() const { return n; }
  WHILST_HD index first(index i) const { return i - i % 4; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    const index j = first(i);
    if (i == j) return S(x[j] + 10.0 * x[j + 1]);
    if (i == j + 1) return S(std::sqrt(5.0) * (x[j + 2] - x[j + 3]));
    const S d = i == j + 2 ? S(x[j + 1] - 2.0 * x[j + 2]) : S(x[j] - x[j + 3]);
    return i == j + 2 ? S(d * d) : S(std::sqrt(10.0) * d * d);
  }
  WHILST_HD double start(index j) const {
    static constexpr double x[] = {3, -1, 0, 1};
    return x[j % 4];
  }
};

struct powell_singular : fixed_size<4, 4> {
  static constexpr int number = 13;
  static constexpr const char* name = "Powell singular";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    return extended_powell_singular{4}.residual(i, x);
  }
  WHILST_HD double start(index j) const { return extended_powell_singular{4}.start(j); }
};

struct wood : fixed_size<4, 6> {
  static constexpr int number = 14;
  static constexpr const char* name = "Wood";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    switch (i) {
      case 0:
        return S(10.0 * (x[1] - x[0] * x[0]));
      case 1:
        return S(1.0 - x[0]);
      case 2:
        return S(std::sqrt(90.0) * (x[3] - x[2] * x[2]));
      case 3:
        return S(1.0 - x[2]);
      case 4:
        return S(std::sqrt(10.0) * (x[1] + x[3] - 2.0));
      default:
        return S((x[1] - x[3]) / std::sqrt(10.0));
    }
  }
  WHILST_HD double start(index j) const { return j % 2 == 0 ? -3 : -1; }
};

struct kowalik_and_osborne : fixed_size<4, 11> {
  static constexpr int number = 15;
  static constexpr const char* name = "Kowalik and Osborne";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    static constexpr double y[] = {0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627,
                                   0.0456, 0.0342, 0.0323, 0.0235, 0.0246};
    // As the paper rounds them: reciprocals of 1/4, 1/2, 1, 2, 4, 6, ..., 16.
    static constexpr double t[] = {4, 2, 1, 0.5, 0.25, 0.1670, 0.125, 0.1, 0.0833, 0.0714, 0.0625};
    const double u = t[i];
    return S(y[i] - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3]));
  }
  WHILST_HD double start(index j) const {
    static constexpr double x[] = {0.25, 0.39, 0.415, 0.39};
    return x[j];
  }
};

struct brown_and_dennis : fixed_size<4, 20> {
  static constexpr int number = 16;
  static constexpr const char* name = "Brown and Dennis";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    const double t = static_cast<double>(i + 1) / 5;
    const S a = S(x[0] + t * x[1] - std::exp(t)), b = S(x[2] + std::sin(t) * x[3] - std::cos(t));
    return S(a * a + b * b);
  }
  WHILST_HD double start(index j) const {
    static constexpr double x[] = {25, 5, -5, -1};
    return x[j];
  }
};

struct osborne_1 : fixed_size<5, 33> {
  static constexpr int number = 17;
  static constexpr const char* name = "Osborne 1";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    static constexpr double y[] = {0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751,
                                   0.718, 0.685, 0.658, 0.628, 0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490,
                                   0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420, 0.414, 0.411, 0.406};
    const double t = 10 * static_cast<double>(i);
    return S(y[i] - (x[0] + x[1] * exp(S(-t * x[3])) + x[2] * exp(S(-t * x[4]))));
  }
  WHILST_HD double start(index j) const {
    static constexpr double x[] = {0.5, 1.5, -1, 0.01, 0.02};
    return x[j];
  }
};

struct biggs_exp6 : fixed_size<6, 13> {
  static constexpr int number = 18;
  static constexpr const char* name = "Biggs EXP6";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double t = 0.1 * static_cast<double>(i + 1);
    const double y = std::exp(-t) - 5 * std::exp(-10 * t) + 3 * std::exp(-4 * t);
    return S(x[2] * exp(S(-t * x[0])) - x[3] * exp(S(-t * x[1])) + x[5] * exp(S(-t * x[4])) - y);
  }
  WHILST_HD double start(index j) const { return j == 1 ? 2 : 1; }
};

struct osborne_2 : fixed_size<11, 65> {
  static constexpr int number = 19;
  static constexpr const char* name = "Osborne 2";
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    static constexpr double y[] = {1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746,
                                   0.679, 0.608, 0.655, 0.616, 0.606, 0.602, 0.626, 0.651, 0.724, 0.649, 0.649,
                                   0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.500, 0.423, 0.395,
                                   0.375, 0.372, 0.391, 0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653,
                                   0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739,
                                   0.710, 0.729, 0.720, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098, 0.054};
    const double t = static_cast<double>(i) / 10;
    S model = S(x[0] * exp(S(-t * x[4])));
    for (int peak = 1; peak <= 3; ++peak) {
      const S d = S(t - x[7 + peak]);
      model += x[peak] * exp(S(-(d * d) * x[4 + peak]));
    }
    return S(y[i] - model);
  }
  WHILST_HD double start(index j) const {
    static constexpr double x[] = {1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5};
    return x[j];
  }
};

/// Of 2 <= n <= 31. All but the last two residuals cost a time that grows with n.
struct watson {
  static constexpr int number = 20;
  static constexpr const char* name = "Watson";
  index n = 6;
  WHILST_HD static constexpr index count() { return 31; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    if (i == 29) return x[0];
    if (i == 30) return S(x[1] - x[0] * x[0] - 1.0);
    // The polynomial with coefficients x and its derivative, by Horner's rule.
    const double t = static_cast<double>(i + 1) / 29;
    S value = x[n - 1], slope = 0;
    for (index j = n - 2; j >= 0; --j) {
      slope = slope * t + value;
      value = value * t + x[j];
    }
    return S(slope - value * value - 1.0);
  }
  WHILST_HD double start(index) const { return 0; }
};

/// Of any even n. Sparse.
struct extended_rosenbrock {
  static constexpr int number = 21;
  static constexpr const char* name = "Extended Rosenbrock";
  static constexpr int width = 2;
  index n = 10;
  WHILST_HD index count() const { return n; }
  WHILST_HD index first(index i) const { return i - i % 2; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    const index j = first(i);
    return i == j ? S(10.0 * (x[j + 1] - x[j] * x[j])) : S(1.0 - x[j]);
  }
  WHILST_HD double start(index j) const { return j % 2 == 0 ? -1.2 : 1; }
};

/// The last residual alone costs a time that grows with n.
struct penalty_1 {
  static constexpr int number = 23;
  static constexpr const char* name = "Penalty I";
  index n = 4;
  WHILST_HD index count() const { return n + 1; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    if (i < n) return S(std::sqrt(1e-5) * (x[i] - 1.0));
    S sum = -0.25;
    for (index j = 0; j < n; ++j) sum += x[j] * x[j];
    return sum;
  }
  WHILST_HD double start(index j) const { return static_cast<double>(j + 1); }
};

/// The last residual alone costs a time that grows with n.
struct penalty_2 {
  static constexpr int number = 24;
  static constexpr const char* name = "Penalty II";
  index n = 4;
  WHILST_HD index count() const { return 2 * n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double root = std::sqrt(1e-5), k = static_cast<double>(i + 1);
    if (i == 0) return S(x[0] - 0.2);
    if (i < n)
      return S(root * (exp(S(x[i] / 10.0)) + exp(S(x[i - 1] / 10.0)) - (std::exp(k / 10) + std::exp((k - 1) / 10))));
    if (i < 2 * n - 1) return S(root * (exp(S(x[i - n + 1] / 10.0)) - std::exp(-0.1)));
    S sum = -1.0;
    for (index j = 0; j < n; ++j) sum += static_cast<double>(n - j) * x[j] * x[j];
    return sum;
  }
  WHILST_HD double start(index) const { return 0.5; }
};

/// The last two residuals alone cost a time that grows with n.
struct variably_dimensioned {
  static constexpr int number = 25;
  static constexpr const char* name = "Variably dimensioned";
  index n = 10;
  WHILST_HD index count() const { return n + 2; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    if (i < n) return S(x[i] - 1.0);
    S sum = 0;
    for (index j = 0; j < n; ++j) sum += static_cast<double>(j + 1) * (x[j] - 1.0);
    return i == n ? sum : S(sum * sum);
  }
  WHILST_HD double start(index j) const { return 1 - static_cast<double>(j + 1) / static_cast<double>(n); }
};

struct trigonometric {
  static constexpr int number = 26;
  static constexpr const char* name = "Trigonometric";
  index n = 10;
  WHILST_HD index count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using std::cos, std::sin;
    using S = scalar_of<X>;
    S sum = static_cast<double>(n);
    for (index j = 0; j < n; ++j) sum -= cos(x[j]);
    return S(sum + static_cast<double>(i + 1) * (1.0 - cos(x[i])) - sin(x[i]));
  }
  WHILST_HD double start(index) const { return 1 / static_cast<double>(n); }
};

struct brown_almost_linear {
  static constexpr int number = 27;
  static constexpr const char* name = "Brown almost-linear";
  index n = 10;
  WHILST_HD index count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    S total = i < n - 1 ? S(x[i] - static_cast<double>(n + 1)) : S(1);
    for (index j = 0; j < n; ++j) total = i < n - 1 ? S(total + x[j]) : S(total * x[j]);
    return i < n - 1 ? total : S(total - 1.0);
  }
  WHILST_HD double start(index) const { return 0.5; }
};

/// Sparse.
struct discrete_boundary_value {
  static constexpr int number = 28;
  static constexpr const char* name = "Discrete boundary value";
  static constexpr int width = 3;
  index n = 10;
  WHILST_HD index count() const { return n; }
  WHILST_HD index first(index i) const { return i - 1; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    const double h = 1 / static_cast<double>(n + 1), t = static_cast<double>(i + 1) * h;
    const S a = S(x[i] + (t + 1));
    S r = S(2.0 * x[i] + h * h / 2 * (a * a * a));
    if (i > 0) r -= x[i - 1];
    if (i < n - 1) r -= x[i + 1];
    return r;
  }
  WHILST_HD double start(index j) const {
    const double t = static_cast<double>(j + 1) / static_cast<double>(n + 1);
    return t * (t - 1);
  }
};

struct discrete_integral_equation {
  static constexpr int number = 29;
  static constexpr const char* name = "Discrete integral equation";
  index n = 10;
  WHILST_HD index count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    const double h = 1 / static_cast<double>(n + 1), t = static_cast<double>(i + 1) * h;
    S sum = 0;
    for (index j = 0; j < n; ++j) {
      const double u = static_cast<double>(j + 1) * h;
      const S a = S(x[j] + (u + 1));
      sum += (j <= i ? (1 - t) * u : t * (1 - u)) * (a * a * a);
    }
    return S(x[i] + h / 2 * sum);
  }
  WHILST_HD double start(index j) const { return discrete_boundary_value{n}.start(j); }
};

/// Sparse.
struct broyden_tridiagonal {
  static constexpr int number = 30;
  static constexpr const char* name = "Broyden tridiagonal";
  static constexpr int width = 3;
  index n = 10;
  WHILST_HD index count() const { return n; }
  WHILST_HD index first(index i) const { return i - 1; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    S r = S((3.0 - 2.0 * x[i]) * x[i] + 1.0);
    if (i > 0) r -= x[i - 1];
    if (i < n - 1) r -= 2.0 * x[i + 1];
    return r;
  }
  WHILST_HD double start(index) const { return -1; }
};

/// Sparse.
struct broyden_banded {
  static constexpr int number = 31;
  static constexpr const char* name = "Broyden banded";
  static constexpr int below = 5, above = 1, width = below + 1 + above;
  index n = 10;
  WHILST_HD index count() const { return n; }
  WHILST_HD index first(index i) const { return i - below; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    S r = S(x[i] * (2.0 + 5.0 * x[i] * x[i]) + 1.0);
    for (index j = i < below ? 0 : i - below; j < n && j <= i + above; ++j)
      if (j != i) r -= x[j] * (1.0 + x[j]);
    return r;
  }
  WHILST_HD double start(index) const { return -1; }
};

/// Of m >= n residuals.
struct linear_full_rank {
  static constexpr int number = 32;
  static constexpr const char* name = "Linear, full rank";
  index n = 5, m = 10;
  WHILST_HD index count() const { return m; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    S sum = 0;
    for (index j = 0; j < n; ++j) sum += x[j];
    const S r = S(-2 / static_cast<double>(m) * sum - 1.0);
    return i < n ? S(r + x[i]) : r;
  }
  WHILST_HD double start(index) const { return 1; }
};

/// Of m >= n residuals.
struct linear_rank_1 {
  static constexpr int number = 33;
  static constexpr const char* name = "Linear, rank 1";
  index n = 5, m = 10;
  WHILST_HD index count() const { return m; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    S sum = 0;
    for (index j = 0; j < n; ++j) sum += static_cast<double>(j + 1) * x[j];
    return S(static_cast<double>(i + 1) * sum - 1.0);
  }
  WHILST_HD double start(index) const { return 1; }
};

/// Of m >= n residuals.
struct linear_rank_1_with_zeros {
  static constexpr int number = 34;
  static constexpr const char* name = "Linear, rank 1, zero columns and rows";
  index n = 5, m = 10;
  WHILST_HD index count() const { return m; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    if (i == 0 || i == m - 1) return S(-1.0);
    S sum = 0;
    for (index j = 1; j < n - 1; ++j) sum += static_cast<double>(j + 1) * x[j];
    return S(static_cast<double>(i) * sum - 1.0);
  }
  WHILST_HD double start(index) const { return 1; }
};

/// With m = n. A residual costs a time that grows with n and with i.
struct chebyquad {
  static constexpr int number = 35;
  static constexpr const char* name = "Chebyquad";
  index n = 8;
  WHILST_HD index count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index i, const X& x) const {
    using S = scalar_of<X>;
    // Chebyshev polynomial i + 1, shifted to [0, 1]: its mean over x, less its integral.
    const double k = static_cast<double>(i + 1);
    S sum = 0;
    for (index j = 0; j < n; ++j) {
      const S y = S(2.0 * x[j] - 1.0);
      S before = 1, polynomial = y;
      for (index degree = 1; degree <= i; ++degree) {
        const S next = S(2.0 * y * polynomial - before);
        before = polynomial;
        polynomial = next;
      }
      sum += polynomial;
    }
    const double integral = i % 2 == 0 ? 0 : -1 / (k * k - 1);
    return S(sum / static_cast<double>(n) - integral);
  }
  WHILST_HD double start(index j) const { return static_cast<double>(j + 1) / static_cast<double>(n + 1); }
};

/// A problem whose number of unknowns is known when it is compiled, as small dense least squares want it.
template <class F, int N>
struct problem_of_size : F {
  static constexpr int unknowns = N;
  template <class S>
  WHILST_HD S operator()(index i, const S* x) const {
    return F::residual(i, x);
  }
};

/// Throws whilst::error where N is not the function's n.
template <int N, class F>
problem_of_size<F, N> of_size(const F& f) {
  if (f.n != N)
    throw error(std::string("making the problem ") + F::name,
                "it has " + std::to_string(f.n) + " unknowns, not " + std::to_string(N),
                "Set its n to the same number");
  return {f};
}

/// What the paper lists for a problem at its n and m, to six digits.
struct published_minima {
  /// The least value of f.
  double global;
  /// Other values that it lists: of local minima, and infima that are approached far out.
  std::vector<double> local = {};
};

/// Calls use(problem, minima) for each problem in the paper's order, those whose size can be chosen at one size or
/// more: problem is a problem_of_size, minima its published_minima.
template <class Use>
void for_each_test_function(const Use& use) {
  use(of_size<2>(rosenbrock{}), published_minima{0});
  use(of_size<2>(freudenstein_and_roth{}), published_minima{0, {48.9842}});
  use(of_size<2>(powell_badly_scaled{}), published_minima{0});
  use(of_size<2>(brown_badly_scaled{}), published_minima{0});
  use(of_size<2>(beale{}), published_minima{0});
  use(of_size<2>(jennrich_and_sampson{}), published_minima{124.362});
  use(of_size<3>(helical_valley{}), published_minima{0});
  use(of_size<3>(bard{}), published_minima{8.21487e-3, {17.4286}});
  use(of_size<3>(gaussian{}), published_minima{1.12793e-8});
  use(of_size<3>(meyer{}), published_minima{87.9458});
  use(of_size<3>(gulf_research_and_development{}), published_minima{0});
  use(of_size<3>(box_three_dimensional{}), published_minima{0});
  use(of_size<4>(powell_singular{}), published_minima{0});
  use(of_size<4>(wood{}), published_minima{0});
  use(of_size<4>(kowalik_and_osborne{}), published_minima{3.07505e-4, {1.02734e-3}});
  use(of_size<4>(brown_and_dennis{}), published_minima{85822.2});
  use(of_size<5>(osborne_1{}), published_minima{5.46489e-5});
  use(of_size<6>(biggs_exp6{}), published_minima{0, {5.65565e-3}});
  use(of_size<11>(osborne_2{}), published_minima{4.01377e-2});
  use(of_size<6>(watson{6}), published_minima{2.28767e-3});
  use(of_size<9>(watson{9}), published_minima{1.39976e-6});
  use(of_size<12>(watson{12}), published_minima{4.72238e-10});
  use(of_size<10>(extended_rosenbrock{10}), published_minima{0});
  use(of_size<8>(extended_powell_singular{8}), published_minima{0});
  use(of_size<4>(penalty_1{4}), published_minima{2.24997e-5});
  use(of_size<10>(penalty_1{10}), published_minima{7.08765e-5});
  use(of_size<4>(penalty_2{4}), published_minima{9.37629e-6});
  use(of_size<10>(penalty_2{10}), published_minima{2.93660e-4});
  use(of_size<10>(variably_dimensioned{10}), published_minima{0});
  use(of_size<10>(trigonometric{10}), published_minima{0, {2.79506e-5}});
  use(of_size<10>(brown_almost_linear{10}), published_minima{0, {1}});
  use(of_size<10>(discrete_boundary_value{10}), published_minima{0});
  use(of_size<10>(discrete_integral_equation{10}), published_minima{0});
  use(of_size<10>(broyden_tridiagonal{10}), published_minima{0});
  use(of_size<10>(broyden_banded{10}), published_minima{0});
  // With m = 10 and n = 5: m - n, m (m - 1) / (2 (2 m + 1)) and (m^2 + 3 m - 6) / (2 (2 m - 3)).
  use(of_size<5>(linear_full_rank{5, 10}), published_minima{5});
  use(of_size<5>(linear_rank_1{5, 10}), published_minima{15.0 / 7});
  use(of_size<5>(linear_rank_1_with_zeros{5, 10}), published_minima{62.0 / 17});
  use(of_size<8>(chebyquad{8}), published_minima{3.51687e-3});
  use(of_size<9>(chebyquad{9}), published_minima{0});
  use(of_size<10>(chebyquad{10}), published_minima{6.50395e-3});
}

}  // namespace whilst::test_functions
