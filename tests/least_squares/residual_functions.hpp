#pragma once

// Residual blocks for the tests of nonlinear least squares, and the methods to try on them. For files that nvcc
// compiles where CUDA is on.

#include <ostream>
#include <string>
#include <vector>

#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::partially_separable;
using whilst::place;

/// A method, how it has the Hessian, and how it damps.
struct variant {
  const char *method, *hessian, *damping = "nielsen";
  minimizer_options options(const std::string& executor) const {
    minimizer_options made{.method = method, .executor = executor};
    made.hessian = hessian;
    made.damping = damping;
    return made;
  }
};
inline std::ostream& operator<<(std::ostream& to, const variant& v) {
  return to << v.method << ", " << v.hessian << ", " << v.damping;
}
inline const std::vector<variant> variants{{"levenberg-marquardt", "assembled"},
                                           {"levenberg-marquardt", "matrix-free"},
                                           {"levenberg-marquardt", "assembled", "classic"},
                                           {"levenberg-marquardt", "matrix-free", "classic"},
                                           {"dogleg", "assembled"},
                                           {"dogleg", "matrix-free"},
                                           {"newton-cg", "assembled"},
                                           {"newton-cg", "matrix-free"},
                                           {"trust-region", "assembled"},
                                           {"trust-region", "matrix-free"}};

/// Three residuals of three unknowns in a row, linear; well conditioned.
struct straight {
  static constexpr int unknowns = 3, residuals = 3;
  WHILST_HD static double factor(index_type e, int m, int k) {
    return m == k ? 3 : 0.1 * static_cast<double>((e * 7 + m * 5 + k * 3) % 11 - 5);
  }
  WHILST_HD static double right_hand_side(index_type e, int m) { return static_cast<double>((e * 13 + m * 4) % 9 - 4); }
  template <class S>
  WHILST_HD void operator()(index_type e, const S* x, S* r) const {
    for (int m = 0; m < 3; ++m) {
      r[m] = S(-right_hand_side(e, m));
      for (int k = 0; k < 3; ++k) r[m] += factor(e, m, k) * x[k];
    }
  }
};
/// Block e has unknowns e, e + 1 and e + 2.
inline std::vector<std::int32_t> threes(int n) {
  std::vector<std::int32_t> unknowns;
  for (std::int32_t e = 0; e + 2 < n; ++e)
    for (std::int32_t k = 0; k < 3; ++k) unknowns.push_back(e + k);
  return unknowns;
}
template <class T>
partially_separable<T> make_straight(place where, int n) {
  partially_separable<T> f(where, n);
  f.add_residuals("straight", straight{}, threes(n));
  return f;
}
/// Broyden's tridiagonal function, a residual at a time; unknowns beyond the ends are zeros.
struct tridiagonal {
  static constexpr int unknowns = 3, residuals = 1;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    r[0] = (3.0 - 2.0 * x[1]) * x[1] - x[0] - 2.0 * x[2] + 1.0;
  }
};
template <class T>
partially_separable<T> make_tridiagonal(place where, int n) {
  std::vector<std::int32_t> unknowns;
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t k = i - 1; k <= i + 1; ++k) unknowns.push_back(k < n ? k : -1);
  partially_separable<T> f(where, n);
  f.add_residuals("tridiagonal", tridiagonal{}, unknowns);
  return f;
}

/// x y = 1, one residual of two unknowns: J has rank 1 everywhere.
struct product_is_one {
  static constexpr int unknowns = 2, residuals = 1;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    r[0] = x[0] * x[1] - 1.0;
  }
};
/// x - at - 2, infinite beyond at.
struct wall {
  static constexpr int unknowns = 1, residuals = 1;
  double at = 3;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    r[0] = x[0] > at ? S(HUGE_VAL) : x[0] - (at + 2);
  }
};
/// Rosenbrock's function, and a third unknown that it does not depend on.
struct curved_valley {
  static constexpr int unknowns = 3, residuals = 2;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    r[0] = 10.0 * (x[1] - x[0] * x[0]) + 0.0 * x[2];
    r[1] = 1.0 - x[0];
  }
};
/// The distance from what was measured.
struct off_by {
  static constexpr int unknowns = 1, residuals = 1;
  const double* measured;
  template <class S>
  WHILST_HD void operator()(index_type e, const S* x, S* r) const {
    r[0] = x[0] - measured[e];
  }
};

template <class T>
minimize_report minimized(const whilst::objective<T>& f, const minimizer_options& options, std::vector<T>& x) {
  return whilst::minimizer<T>(f, options).solve(x);
}

}  // namespace whilst_test
