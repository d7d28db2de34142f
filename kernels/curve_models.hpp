#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "whilst/host_device.hpp"

/// Models of a curve, y = f(b; x), for least squares.
///
/// A model is a functor: model(b, x) is f for `parameters` values at b and `variables` predictors at x. The scalar S of
/// b is double, float or a number that carries derivatives: what is asked of it is + - * /, also with a double on
/// either side, and exp, log, sqrt, sin, cos and atan, found by argument-dependent lookup. What depends on x alone is
/// computed in double. A model whose file states it for a transform of y has the static function response(y).
///
/// Those of the nonlinear regression suite are as the model sections of the NIST Statistical Reference Datasets state
/// them: https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml. Several sets can have one model.
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

/// Also of Chwirut2, which differs in its data.
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

/// Also of Gauss2 and Gauss3.
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

/// Also of Thurber.
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

/// Also of Lanczos2 and Lanczos3, whose data have fewer digits.
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

/// Also of BoxBOD.
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
    // 1 - (1+u)**(-2) over one denominator: there 1 and nearly 1 would cancel.
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

/// b1 + b2 x + ... for fits of one's own; its degree is 1, 2 or 3.
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

/// A decay towards b3 at the rate b2.
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

/// Growth to b1 that is half way at x = b3.
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

/// Of DanWood, and of other data with x > 0.
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

/// A peak of height b1 at b2 with the standard deviation b3.
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

/// The speed of an enzyme's reaction at the concentration x: at most b1, half of that at x = b2.
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

namespace whilst {

/// What a fit compares the model with: the observed y itself unless the model is of a transform of it.
template <class Model>
WHILST_HD double curve_response([[maybe_unused]] const Model& model, double y) {
  if constexpr (requires { Model::response(y); }) {
    return Model::response(y);
  } else {
    return y;
  }
}

/// Calls use(name, model) for every name of a model: first the 27 data sets of the NIST suite, then the general models.
template <class Use>
void for_each_curve_model(Use&& use) {
  use(std::string_view("Bennett5"), curves::bennett5{});
  use(std::string_view("BoxBOD"), curves::misra1a{});
  use(std::string_view("Chwirut1"), curves::chwirut1{});
  use(std::string_view("Chwirut2"), curves::chwirut1{});
  use(std::string_view("DanWood"), curves::power{});
  use(std::string_view("Eckerle4"), curves::eckerle4{});
  use(std::string_view("ENSO"), curves::enso{});
  use(std::string_view("Gauss1"), curves::gauss1{});
  use(std::string_view("Gauss2"), curves::gauss1{});
  use(std::string_view("Gauss3"), curves::gauss1{});
  use(std::string_view("Hahn1"), curves::hahn1{});
  use(std::string_view("Kirby2"), curves::kirby2{});
  use(std::string_view("Lanczos1"), curves::lanczos1{});
  use(std::string_view("Lanczos2"), curves::lanczos1{});
  use(std::string_view("Lanczos3"), curves::lanczos1{});
  use(std::string_view("MGH09"), curves::mgh09{});
  use(std::string_view("MGH10"), curves::mgh10{});
  use(std::string_view("MGH17"), curves::mgh17{});
  use(std::string_view("Misra1a"), curves::misra1a{});
  use(std::string_view("Misra1b"), curves::misra1b{});
  use(std::string_view("Misra1c"), curves::misra1c{});
  use(std::string_view("Misra1d"), curves::misra1d{});
  use(std::string_view("Nelson"), curves::nelson{});
  use(std::string_view("Rat42"), curves::rat42{});
  use(std::string_view("Rat43"), curves::rat43{});
  use(std::string_view("Roszman1"), curves::roszman1{});
  use(std::string_view("Thurber"), curves::hahn1{});
  use(std::string_view(curves::polynomial<1>::name), curves::polynomial<1>{});
  use(std::string_view(curves::polynomial<2>::name), curves::polynomial<2>{});
  use(std::string_view(curves::polynomial<3>::name), curves::polynomial<3>{});
  use(std::string_view(curves::exponential::name), curves::exponential{});
  use(std::string_view(curves::logistic::name), curves::logistic{});
  use(std::string_view(curves::power::name), curves::power{});
  use(std::string_view(curves::gaussian::name), curves::gaussian{});
  use(std::string_view(curves::michaelis_menten::name), curves::michaelis_menten{});
}

/// Calls use(model) for the model of this name, in upper or lower case; false where there is none.
template <class Use>
bool with_curve_model(std::string_view name, Use&& use) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto is_asked_for = [&](std::string_view known) {
    if (known.size() != name.size()) return false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (lower(known[i]) != lower(name[i])) return false;
    }
    return true;
  };
  bool found = false;
  for_each_curve_model([&](std::string_view known, const auto& model) {
    if (found || !is_asked_for(known)) return;
    found = true;
    use(model);
  });
  return found;
}

/// A line of help on a model.
struct curve_model_entry {
  std::string_view name, formula;
  int parameters, variables;
};

inline std::vector<curve_model_entry> curve_model_list() {
  std::vector<curve_model_entry> list;
  for_each_curve_model([&](std::string_view name, const auto& model) {
    list.push_back({name, model.formula, model.parameters, model.variables});
  });
  return list;
}

}  // namespace whilst
