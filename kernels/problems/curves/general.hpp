#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"

/// Models for your own fits. See kernels/problems/curves/curve_models.hpp.
namespace whilst::curves {

/// b1 + b2 x + ...; its degree is 1, 2 or 3.
template <int degree>
struct polynomial {
  static_assert(degree >= 1 && degree <= 3, "a polynomial of degree 1, 2 or 3");
  static constexpr const char* name = degree == 1 ? "line" : degree == 2 ? "quadratic" : "cubic";
  static constexpr const char* formula = degree == 1   ? "b1 + b2*x"
                                         : degree == 2 ? "b1 + b2*x + b3*x**2"
                                                       : "b1 + b2*x + b3*x**2 + b4*x**3";
  static constexpr int parameters = degree + 1, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    S y = b[degree];
    for (int k = degree - 1; k >= 0; --k) y = S(b[k] + y * x[0]);
    return y;
  }
};

/// A decay towards b3 with rate b2.
struct exponential {
  static constexpr const char* name = "exponential";
  static constexpr const char* formula = "b1*exp(-b2*x) + b3";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] * exp(b[1] * -x[0]) + b[2]);
  }
};

/// Growth to b1, half of it reached at x = b3.
struct logistic {
  static constexpr const char* name = "logistic";
  static constexpr const char* formula = "b1 / (1+exp(-b2*(x-b3)))";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] / (1.0 + exp(b[1] * (b[2] - x[0]))));
  }
};

/// For DanWood, and other data with x > 0.
struct power {
  static constexpr const char* name = "power";
  static constexpr const char* formula = "b1 * x**b2";
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] * exp(b[1] * std::log(x[0])));
  }
};

/// A peak of height b1 at b2 with standard deviation b3.
struct gaussian {
  static constexpr const char* name = "gaussian";
  static constexpr const char* formula = "b1 * exp(-0.5*((x-b2)/b3)**2)";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    const S u = S((x[0] - b[1]) / b[2]);
    return S(b[0] * exp(-0.5 * (u * u)));
  }
};

/// The rate of an enzyme's reaction at concentration x: at most b1, half of that at x = b2.
struct michaelis_menten {
  static constexpr const char* name = "michaelis-menten";
  static constexpr const char* formula = "b1*x / (b2+x)";
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    return S(b[0] * x[0] / (b[1] + x[0]));
  }
};

}  // namespace whilst::curves
