#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"

/// The models of the nonlinear regression suite of the NIST Statistical Reference Datasets, except DanWood's, which is
/// `power` of general.hpp. See kernels/problems/curves/curve_models.hpp.
namespace whilst::curves {

inline constexpr double pi = 3.141592653589793238462643383279;

struct bennett5 {
  static constexpr const char* name = "Bennett5";
  static constexpr const char* formula = "b1 * (b2+x)**(-1/b3)";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp, std::log;
    return S(b[0] * exp(-1.0 * log(b[1] + x[0]) / b[2]));
  }
};

/// Also for Chwirut2, which differs in its data.
struct chwirut1 {
  static constexpr const char* name = "Chwirut1";
  static constexpr const char* formula = "exp(-b1*x) / (b2+b3*x)";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(exp(b[0] * -x[0]) / (b[1] + b[2] * x[0]));
  }
};

struct enso {
  static constexpr const char* name = "ENSO";
  static constexpr const char* formula =
      "b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4) + b6*sin(2*pi*x/b4) + b8*cos(2*pi*x/b7) + "
      "b9*sin(2*pi*x/b7)";
  static constexpr int parameters = 9, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::cos, std::sin;
    const double turn = 2 * pi * x[0];
    const S first = S(turn / b[3]), second = S(turn / b[6]);
    return S(b[0] + b[1] * std::cos(turn / 12) + b[2] * std::sin(turn / 12) + b[4] * cos(first) + b[5] * sin(first) +
             b[7] * cos(second) + b[8] * sin(second));
  }
};

struct eckerle4 {
  static constexpr const char* name = "Eckerle4";
  static constexpr const char* formula = "(b1/b2) * exp(-0.5*((x-b3)/b2)**2)";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    const S u = S((x[0] - b[2]) / b[1]);
    return S(b[0] / b[1] * exp(-0.5 * (u * u)));
  }
};

/// Also for Gauss2 and Gauss3.
struct gauss1 {
  static constexpr const char* name = "Gauss1";
  static constexpr const char* formula = "b1*exp(-b2*x) + b3*exp(-(x-b4)**2 / b5**2) + b6*exp(-(x-b7)**2 / b8**2)";
  static constexpr int parameters = 8, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    const S u = S((x[0] - b[3]) / b[4]), v = S((x[0] - b[6]) / b[7]);
    return S(b[0] * exp(b[1] * -x[0]) + b[2] * exp(-1.0 * (u * u)) + b[5] * exp(-1.0 * (v * v)));
  }
};

/// Also for Thurber.
struct hahn1 {
  static constexpr const char* name = "Hahn1";
  static constexpr const char* formula = "(b1 + b2*x + b3*x**2 + b4*x**3) / (1 + b5*x + b6*x**2 + b7*x**3)";
  static constexpr int parameters = 7, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    const double x1 = x[0], x2 = x1 * x1, x3 = x2 * x1;
    return S((b[0] + b[1] * x1 + b[2] * x2 + b[3] * x3) / (1.0 + b[4] * x1 + b[5] * x2 + b[6] * x3));
  }
};

struct kirby2 {
  static constexpr const char* name = "Kirby2";
  static constexpr const char* formula = "(b1 + b2*x + b3*x**2) / (1 + b4*x + b5*x**2)";
  static constexpr int parameters = 5, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    const double x1 = x[0], x2 = x1 * x1;
    return S((b[0] + b[1] * x1 + b[2] * x2) / (1.0 + b[3] * x1 + b[4] * x2));
  }
};

/// Also for Lanczos2 and Lanczos3, whose data have fewer digits.
struct lanczos1 {
  static constexpr const char* name = "Lanczos1";
  static constexpr const char* formula = "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)";
  static constexpr int parameters = 6, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] * exp(b[1] * -x[0]) + b[2] * exp(b[3] * -x[0]) + b[4] * exp(b[5] * -x[0]));
  }
};

struct mgh09 {
  static constexpr const char* name = "MGH09";
  static constexpr const char* formula = "b1*(x**2+x*b2) / (x**2+x*b3+b4)";
  static constexpr int parameters = 4, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    const double x1 = x[0], x2 = x1 * x1;
    return S(b[0] * (x2 + b[1] * x1) / (x2 + b[2] * x1 + b[3]));
  }
};

struct mgh10 {
  static constexpr const char* name = "MGH10";
  static constexpr const char* formula = "b1 * exp(b2/(x+b3))";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] * exp(b[1] / (x[0] + b[2])));
  }
};

struct mgh17 {
  static constexpr const char* name = "MGH17";
  static constexpr const char* formula = "b1 + b2*exp(-x*b4) + b3*exp(-x*b5)";
  static constexpr int parameters = 5, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] + b[1] * exp(b[3] * -x[0]) + b[2] * exp(b[4] * -x[0]));
  }
};

/// Also for BoxBOD.
struct misra1a {
  static constexpr const char* name = "Misra1a";
  static constexpr const char* formula = "b1 * (1-exp(-b2*x))";
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] * (1.0 - exp(b[1] * -x[0])));
  }
};

struct misra1b {
  static constexpr const char* name = "Misra1b";
  static constexpr const char* formula = "b1 * (1-(1+b2*x/2)**(-2))";
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    // 1 - (1+u)**(-2) over one denominator: otherwise 1 and nearly 1 would cancel.
    const S u = S(b[1] * (0.5 * x[0])), v = S(1.0 + u);
    return S(b[0] * u * (1.0 + v) / (v * v));
  }
};

struct misra1c {
  static constexpr const char* name = "Misra1c";
  static constexpr const char* formula = "b1 * (1-(1+2*b2*x)**(-0.5))";
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::sqrt;
    return S(b[0] * (1.0 - 1.0 / sqrt(1.0 + b[1] * (2 * x[0]))));
  }
};

struct misra1d {
  static constexpr const char* name = "Misra1d";
  static constexpr const char* formula = "b1*b2*x / (1+b2*x)";
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    const S u = S(b[1] * x[0]);
    return S(b[0] * u / (1.0 + u));
  }
};

/// A model of log(y).
struct nelson {
  static constexpr const char* name = "Nelson";
  static constexpr const char* formula = "b1 - b2*x1 * exp(-b3*x2), to be compared with log(y)";
  static constexpr int parameters = 3, variables = 2;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] - b[1] * x[0] * exp(b[2] * -x[1]));
  }
  WHILST_HD static double response(double y) { return std::log(y); }
};

struct rat42 {
  static constexpr const char* name = "Rat42";
  static constexpr const char* formula = "b1 / (1+exp(b2-b3*x))";
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return S(b[0] / (1.0 + exp(b[1] - b[2] * x[0])));
  }
};

struct rat43 {
  static constexpr const char* name = "Rat43";
  static constexpr const char* formula = "b1 / (1+exp(b2-b3*x))**(1/b4)";
  static constexpr int parameters = 4, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp, std::log;
    return S(b[0] * exp(-1.0 * log(1.0 + exp(b[1] - b[2] * x[0])) / b[3]));
  }
};

struct roszman1 {
  static constexpr const char* name = "Roszman1";
  static constexpr const char* formula = "b1 - b2*x - atan(b3/(x-b4))/pi";
  static constexpr int parameters = 4, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::atan;
    return S(b[0] - b[1] * x[0] - atan(b[2] / (x[0] - b[3])) / pi);
  }
};

}  // namespace whilst::curves
