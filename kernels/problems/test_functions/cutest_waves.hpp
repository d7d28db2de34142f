#pragma once

#include <cmath>

#include "kernels/problems/test_functions/cutest_problem.hpp"

/// Problems whose terms couple neighbours by exponentials, sines and cosines. See
/// kernels/problems/test_functions/cutest.hpp.
namespace whilst::test_functions {

/// sum_(i < n) cos(x_i^2 - x_(i+1) / 2). All cosines can be -1.
struct cosine : sizes_from<2> {
  static constexpr const char* name = "COSINE";
  struct pair {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::cos;
      return cos(S(x[0] * x[0] - 0.5 * x[1]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("cosines", pair{}, neighbours<2>(0, n - 1));
  }
  static double start(index_type, index_type) { return 1; }
  static std::optional<known_minimum> minimum(index_type n) { return known_minimum{1 - static_cast<double>(n)}; }
};

/// sum over i = 1, 3, ... of (exp(x_i) - x_(i+1))^4 + 100 (x_(i+1) - x_(i+2))^6 + (tan(x_(i+2) - x_(i+3)) + x_(i+2) -
/// x_(i+3))^4 + x_i^8 + (x_(i+3) - 1)^2. Report 83/4, problem 32. Has many minima.
struct cragglvy : sizes_from<4, 2> {
  static constexpr const char* name = "CRAGGLVY";
  struct piece {
    static constexpr int unknowns = 4;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::exp, std::tan;
      const S a = exp(x[0]) - x[1], b = x[1] - x[2], c = x[2] - x[3], t = tan(c) + c, e = x[3] - 1.0;
      return S(fourth_power(a) + 100.0 * (squared(b) * fourth_power(b)) + fourth_power(t) +
               squared(fourth_power(x[0])) + squared(e));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("pieces", piece{}, neighbours<4>(0, n - 3, 2));
  }
  static double start(index_type j, index_type) { return j == 0 ? 1 : 2; }
  static std::optional<known_minimum> minimum(index_type n) {
    return find_published(n, {{4, {0}},
                              {10, {1.886566, 1e-6}},
                              {50, {15.372, 1e-3}},
                              {100, {32.270, 1e-3}},
                              {500, {167.45, 1e-2}},
                              {1000, {336.42, 1e-2}},
                              {5000, {1688.2, 0.1}}});
  }
};

/// sum_(i <= n - 2) -1 / (1 + (x_i - x_(i+1))^2) - sin((pi x_(i+1) + x_(i+2)) / 2) - exp(-((x_i + x_(i+2)) / x_(i+1) -
/// 2)^2). J. W. Schmidt, K. Vetters, Numer. Math. 15 (1970).
struct schmvett : sizes_from<3> {
  static constexpr const char* name = "SCHMVETT";
  struct triple {
    static constexpr int unknowns = 3;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::exp, std::sin;
      constexpr double pi = 3.14159265358979323846;
      const S bell = 1.0 + squared(S(x[0] - x[1])), ratio = (x[0] + x[2]) / x[1] - 2.0;
      return S(-1.0 / bell - sin(S(0.5 * (pi * x[1] + x[2]))) - exp(S(-squared(ratio))));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("triples", triple{}, neighbours<3>(0, n - 2));
  }
  static double start(index_type, index_type) { return 0.5; }
  static std::optional<known_minimum> minimum(index_type n) { return known_minimum{-3.0 * static_cast<double>(n - 2)}; }
};

/// sum_(i < n) cos(s_i^2 x_i^2 - s_(i+1) x_(i+1) / 2), s_i = exp(12 (i - 1) / (n - 1)): scales from 1 to 1.6e5.
struct scosine : sizes_from<2> {
  static constexpr const char* name = "SCOSINE";
  WHILST_HD static double scale(index_type i, index_type n) {
    return std::exp(12 * static_cast<double>(i) / static_cast<double>(n - 1));
  }
  struct pair {
    static constexpr int unknowns = 2;
    index_type n;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      using std::cos;
      const double a = scale(e, n), b = scale(e + 1, n);
      return S(cos(S(a * a * (x[0] * x[0]) - b / 2 * x[1])));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("cosines", pair{n}, neighbours<2>(0, n - 1));
  }
  static double start(index_type j, index_type n) { return 1 / scale(j, n); }
  static std::optional<known_minimum> minimum(index_type n) { return known_minimum{1 - static_cast<double>(n)}; }
};

/// sum_(i <= n - 2) (10 / (n - 2) + x_(i+2)^2) (2 - exp(-(x_i - x_(i+1))^2 / (0.1 + x_(i+2)^2))). Report 83/4, problem
/// 21. Neither factor is below its value at x = 0.
struct tointgss : sizes_from<3> {
  static constexpr const char* name = "TOINTGSS";
  struct triple {
    static constexpr int unknowns = 3;
    double share;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::exp;
      const S last = squared(x[2]), exponent = squared(S(x[0] - x[1])) / (0.1 + last);
      return S((share + last) * (2.0 - exp(S(-exponent))));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("triples", triple{10.0 / (n - 2)}, neighbours<3>(0, n - 2));
  }
  static double start(index_type, index_type) { return 3; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{10}; }
};

using wavy_problems = problem_list<cosine, cragglvy, schmvett, scosine, tointgss>;

}  // namespace whilst::test_functions
