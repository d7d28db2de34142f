#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

/// Functions from N. I. M. Gould, D. Orban, P. L. Toint, "CUTEst: a constrained and unconstrained testing environment
/// with safe threads for mathematical optimization", Comput. Optim. Appl. 60 (2015), from their formulas: not sums of
/// squares, and hard in different ways. Each is a sum of terms for partially_separable, and has
/// - `wire(n, add)`, which calls add(name, term, unknowns of each term) for each kind of term;
/// - `start(j, n)`, entry j of the standard starting point, from 0.
/// Unknowns are counted from 0 here, and from 1 in the formulas.
namespace whilst::test_functions {

/// sum x_i + 1/2 sum_(1 < i < n) cos(2 x_i - x_n - x_1): no minimum.
struct indef {
  struct line {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return x[0];
    }
  };
  struct wave {
    static constexpr int unknowns = 3;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::cos;
      return S(0.5 * cos(S(2.0 * x[0] - x[1] - x[2])));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    std::vector<std::int32_t> all, triples;
    for (std::int32_t i = 0; i < n; ++i) all.push_back(i);
    for (std::int32_t i = 1; i < n - 1; ++i) triples.insert(triples.end(), {i, n - 1, 0});
    add("x", line{}, all);
    add("waves", wave{}, triples);
  }
  static double start(index_type j, index_type n) { return static_cast<double>(j + 1) / static_cast<double>(n + 1); }
};

/// (x_1 - 1)^4 + (x_n^2 - x_1^2)^2 + sum_(1 < i < n) sin(x_i - x_n) - x_1^2 + x_i^2: its minimum is about -n^2 / 4.
struct sinquad {
  struct first {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      const S a = (x[0] - 1.0) * (x[0] - 1.0);
      return a * a;
    }
  };
  struct last {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      const S a = x[1] * x[1] - x[0] * x[0];
      return a * a;
    }
  };
  struct middle {
    static constexpr int unknowns = 3;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::sin;
      return S(sin(S(x[0] - x[2])) - x[1] * x[1] + x[0] * x[0]);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    std::vector<std::int32_t> triples;
    for (std::int32_t i = 1; i < n - 1; ++i) triples.insert(triples.end(), {i, 0, n - 1});
    add("first", first{}, std::vector<std::int32_t>{0});
    add("last", last{}, std::vector<std::int32_t>{0, n - 1});
    add("middle", middle{}, triples);
  }
  static double start(index_type, index_type) { return 0.1; }
};

/// sum_(i < n) cos(s_i^2 x_i^2 - s_(i+1) x_(i+1) / 2), s_i = exp(12 (i - 1) / (n - 1)): scales from 1 to 1.6e5.
struct scosine {
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
    std::vector<std::int32_t> pairs;
    for (std::int32_t i = 0; i + 1 < n; ++i) pairs.insert(pairs.end(), {i, i + 1});
    add("cosines", pair{n}, pairs);
  }
  static double start(index_type j, index_type n) { return 1 / scale(j, n); }
};

/// sum q_i (q_i (q_i^2 - 20) - 0.1), q_i = x_i + ... + x_(i+10), up to x_n at most.
struct curly10 {
  struct quartic {
    static constexpr int unknowns = 11;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      S q = x[0];
      for (int k = 1; k < unknowns; ++k) q += x[k];
      return S(q * (q * (q * q - 20.0) - 0.1));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    std::vector<std::int32_t> windows;
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t k = i; k < i + quartic::unknowns; ++k) windows.push_back(k < n ? k : -1);
    add("quartics", quartic{}, windows);
  }
  static double start(index_type j, index_type n) {
    return 1e-4 * static_cast<double>(j + 1) / static_cast<double>(n + 1);
  }
};

/// 1/2 sum i (sum over six of sin x_j)^2, j being i and 1 + (k i - 1) mod n for k = 2, 3, 5, 7, 11.
struct sparsine {
  struct square {
    static constexpr int unknowns = 6;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      using std::sin;
      S sum = sin(x[0]);
      for (int k = 1; k < unknowns; ++k) sum += sin(x[k]);
      return S(0.5 * static_cast<double>(e + 1) * (sum * sum));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    std::vector<std::int32_t> sixes;
    for (std::int32_t i = 1; i <= n; ++i)
      for (const std::int32_t k : {1, 2, 3, 5, 7, 11}) sixes.push_back((k * i - 1) % n);
    add("squares", square{}, sixes);
  }
  static double start(index_type, index_type) { return 0.5; }
};

/// sum_(i < n) (x_i^2 + x_n^2)^2 - 4 x_i + 3, with minimum 0.
struct arwhead {
  struct head {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      const S a = x[0] * x[0] + x[1] * x[1];
      return S(a * a - 4.0 * x[0] + 3.0);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    std::vector<std::int32_t> pairs;
    for (std::int32_t i = 0; i + 1 < n; ++i) pairs.insert(pairs.end(), {i, n - 1});
    add("heads", head{}, pairs);
  }
  static double start(index_type, index_type) { return 1; }
};

/// sum over i = 1, 3, ... of (exp(x_i) - x_(i+1))^4 + 100 (x_(i+1) - x_(i+2))^6 + (tan(x_(i+2) - x_(i+3)) + x_(i+2) -
/// x_(i+3))^4 + x_i^8 + (x_(i+3) - 1)^2; n is even. Has many minima.
struct craggy {
  struct piece {
    static constexpr int unknowns = 4;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::exp, std::tan;
      const S a = exp(x[0]) - x[1], b = x[1] - x[2], c = x[2] - x[3], t = tan(c) + c, e = x[3] - 1.0;
      const S aa = a * a, bb = b * b, tt = t * t, xx = x[0] * x[0];
      return S(aa * aa + 100.0 * (bb * bb * bb) + tt * tt + xx * xx * xx * xx + e * e);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    std::vector<std::int32_t> fours;
    for (std::int32_t i = 0; i + 3 < n; i += 2) fours.insert(fours.end(), {i, i + 1, i + 2, i + 3});
    add("pieces", piece{}, fours);
  }
  static double start(index_type j, index_type) { return j == 0 ? 1 : 2; }
};

}  // namespace whilst::test_functions
