#pragma once

#include <cmath>

#include "kernels/problems/test_functions/problem.hpp"
#include "kernels/problems/test_functions/variable_size.hpp"

/// Problems 1 to 19, whose numbers of unknowns and residuals the paper fixes. See
/// kernels/problems/test_functions/test_functions.hpp.
namespace whilst::test_functions {

struct rosenbrock : fixed_size<2, 2> {
  static constexpr int number = 1;
  static constexpr const char* name = "Rosenbrock";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    return i == 0 ? S(10.0 * (x[1] - x[0] * x[0])) : S(1.0 - x[0]);
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? -1.2 : 1; }
};

struct freudenstein_and_roth : fixed_size<2, 2> {
  static constexpr int number = 2;
  static constexpr const char* name = "Freudenstein and Roth";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    const S y = x[1];
    return i == 0 ? S(x[0] - 13.0 + ((5.0 - y) * y - 2.0) * y) : S(x[0] - 29.0 + ((y + 1.0) * y - 14.0) * y);
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? 0.5 : -2; }
};

struct powell_badly_scaled : fixed_size<2, 2> {
  static constexpr int number = 3;
  static constexpr const char* name = "Powell badly scaled";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    return i == 0 ? S(1e4 * x[0] * x[1] - 1.0) : S(exp(-x[0]) + exp(-x[1]) - 1.0001);
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? 0 : 1; }
};

struct brown_badly_scaled : fixed_size<2, 3> {
  static constexpr int number = 4;
  static constexpr const char* name = "Brown badly scaled";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    return i == 0 ? S(x[0] - 1e6) : i == 1 ? S(x[1] - 2e-6) : S(x[0] * x[1] - 2.0);
  }
  WHILST_HD double start(index_type) const { return 1; }
};

struct beale : fixed_size<2, 3> {
  static constexpr int number = 5;
  static constexpr const char* name = "Beale";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    const double y = i == 0 ? 1.5 : i == 1 ? 2.25 : 2.625;
    S power = x[1];
    for (index_type k = 0; k < i; ++k) power *= x[1];
    return S(y - x[0] * (1.0 - power));
  }
  WHILST_HD double start(index_type) const { return 1; }
};

struct jennrich_and_sampson : fixed_size<2, 10> {
  static constexpr int number = 6;
  static constexpr const char* name = "Jennrich and Sampson";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double k = static_cast<double>(i + 1);
    return S(2 + 2 * k - (exp(S(k * x[0])) + exp(S(k * x[1]))));
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? 0.3 : 0.4; }
};

/// Not defined where x[0] is 0.
struct helical_valley : fixed_size<3, 3> {
  static constexpr int number = 7;
  static constexpr const char* name = "Helical valley";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::atan, std::sqrt;
    using S = scalar_of<X>;
    constexpr double two_pi = 6.283185307179586476925286766559;
    if (i == 2) return x[2];
    if (i == 1) return S(10.0 * (sqrt(x[0] * x[0] + x[1] * x[1]) - 1.0));
    const S turns = S(atan(S(x[1] / x[0])) / two_pi + (x[0] < 0 ? 0.5 : 0.0));
    return S(10.0 * (x[2] - 10.0 * turns));
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? -1 : 0; }
};

struct bard : fixed_size<3, 15> {
  static constexpr int number = 8;
  static constexpr const char* name = "Bard";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    static constexpr double y[] = {0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39,
                                   0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39};
    const double u = static_cast<double>(i + 1), v = 16 - u, w = u < v ? u : v;
    return S(y[i] - (x[0] + u / (v * x[1] + w * x[2])));
  }
  WHILST_HD double start(index_type) const { return 1; }
};

struct gaussian : fixed_size<3, 15> {
  static constexpr int number = 9;
  static constexpr const char* name = "Gaussian";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    // Symmetric: entry 14 - i has the same y as entry i.
    static constexpr double y[] = {0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521, 0.3989};
    const S d = S((8 - static_cast<double>(i + 1)) / 2 - x[2]);
    return S(x[0] * exp(S(-0.5 * x[1] * d * d)) - y[i < 8 ? i : 14 - i]);
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? 0.4 : j == 1 ? 1 : 0; }
};

struct meyer : fixed_size<3, 16> {
  static constexpr int number = 10;
  static constexpr const char* name = "Meyer";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    static constexpr double y[] = {34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744,
                                   8261,  7030,  6005,  5147,  4427,  3820,  3307,  2872};
    const double t = 45 + 5 * static_cast<double>(i + 1);
    return S(x[0] * exp(S(x[1] / (t + x[2]))) - y[i]);
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? 0.02 : j == 1 ? 4000 : 250; }
};

/// The paper prints |y_i m i x_2| but means |y_i - x_2|: only then is f zero at the minimizer that it gives.
struct gulf_research_and_development : fixed_size<3, 100> {
  static constexpr int number = 11;
  static constexpr const char* name = "Gulf research and development";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::abs, std::exp, std::pow;
    using S = scalar_of<X>;
    const double t = static_cast<double>(i + 1) / 100, y = 25 + std::pow(-50 * std::log(t), 2.0 / 3);
    return S(exp(S(-pow(S(abs(S(y - x[1]))), x[2]) / x[0])) - t);
  }
  WHILST_HD double start(index_type j) const { return j == 0 ? 5 : j == 1 ? 2.5 : 0.15; }
};

struct box_three_dimensional : fixed_size<3, 10> {
  static constexpr int number = 12;
  static constexpr const char* name = "Box three-dimensional";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double t = 0.1 * static_cast<double>(i + 1);
    return S(exp(S(-t * x[0])) - exp(S(-t * x[1])) - x[2] * (std::exp(-t) - std::exp(-10 * t)));
  }
  WHILST_HD double start(index_type j) const { return 10.0 * static_cast<double>(j); }
};

struct powell_singular : fixed_size<4, 4> {
  static constexpr int number = 13;
  static constexpr const char* name = "Powell singular";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    return extended_powell_singular{4}.residual(i, x);
  }
  WHILST_HD double start(index_type j) const { return extended_powell_singular{4}.start(j); }
};

struct wood : fixed_size<4, 6> {
  static constexpr int number = 14;
  static constexpr const char* name = "Wood";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
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
  WHILST_HD double start(index_type j) const { return j % 2 == 0 ? -3 : -1; }
};

struct kowalik_and_osborne : fixed_size<4, 11> {
  static constexpr int number = 15;
  static constexpr const char* name = "Kowalik and Osborne";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    static constexpr double y[] = {0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627,
                                   0.0456, 0.0342, 0.0323, 0.0235, 0.0246};
    // As the paper rounds them: reciprocals of 1/4, 1/2, 1, 2, 4, 6, ..., 16.
    static constexpr double t[] = {4, 2, 1, 0.5, 0.25, 0.1670, 0.125, 0.1, 0.0833, 0.0714, 0.0625};
    const double u = t[i];
    return S(y[i] - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3]));
  }
  WHILST_HD double start(index_type j) const {
    static constexpr double x[] = {0.25, 0.39, 0.415, 0.39};
    return x[j];
  }
};

struct brown_and_dennis : fixed_size<4, 20> {
  static constexpr int number = 16;
  static constexpr const char* name = "Brown and Dennis";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    const double t = static_cast<double>(i + 1) / 5;
    const S a = S(x[0] + t * x[1] - std::exp(t)), b = S(x[2] + std::sin(t) * x[3] - std::cos(t));
    return S(a * a + b * b);
  }
  WHILST_HD double start(index_type j) const {
    static constexpr double x[] = {25, 5, -5, -1};
    return x[j];
  }
};

struct osborne_1 : fixed_size<5, 33> {
  static constexpr int number = 17;
  static constexpr const char* name = "Osborne 1";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    static constexpr double y[] = {0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751,
                                   0.718, 0.685, 0.658, 0.628, 0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490,
                                   0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420, 0.414, 0.411, 0.406};
    const double t = 10 * static_cast<double>(i);
    return S(y[i] - (x[0] + x[1] * exp(S(-t * x[3])) + x[2] * exp(S(-t * x[4]))));
  }
  WHILST_HD double start(index_type j) const {
    static constexpr double x[] = {0.5, 1.5, -1, 0.01, 0.02};
    return x[j];
  }
};

struct biggs_exp6 : fixed_size<6, 13> {
  static constexpr int number = 18;
  static constexpr const char* name = "Biggs EXP6";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double t = 0.1 * static_cast<double>(i + 1);
    const double y = std::exp(-t) - 5 * std::exp(-10 * t) + 3 * std::exp(-4 * t);
    return S(x[2] * exp(S(-t * x[0])) - x[3] * exp(S(-t * x[1])) + x[5] * exp(S(-t * x[4])) - y);
  }
  WHILST_HD double start(index_type j) const { return j == 1 ? 2 : 1; }
};

struct osborne_2 : fixed_size<11, 65> {
  static constexpr int number = 19;
  static constexpr const char* name = "Osborne 2";
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
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
  WHILST_HD double start(index_type j) const {
    static constexpr double x[] = {1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5};
    return x[j];
  }
};

}  // namespace whilst::test_functions
