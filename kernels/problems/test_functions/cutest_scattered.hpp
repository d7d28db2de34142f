#pragma once

#include <array>
#include <cmath>

#include "kernels/problems/test_functions/cutest_problem.hpp"

/// Problems whose terms couple unknowns far apart, or many neighbours, or none. See
/// kernels/problems/test_functions/cutest.hpp.
namespace whilst::test_functions {

/// sum |(3 - 2 x_i) x_i - x_(i-1) - 2 x_(i+1) + 1|^(7/3) + sum_(i <= n / 2) |x_i + x_(i+n/2)|^(7/3), x_0 = x_(n+1) = 0.
/// P. L. Toint, Math. Comput. 32 (1978).
struct broydn7d : sizes_from<4, 2> {
  static constexpr const char* name = "BROYDN7D";
  template <class S>
  WHILST_HD static S power(const S& x) {
    using std::abs, std::pow;
    return pow(S(abs(x)), 7.0 / 3);
  }
  struct row {
    static constexpr int unknowns = 3;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return power(S((3.0 - 2.0 * x[1]) * x[1] - x[0] - 2.0 * x[2] + 1.0));
    }
  };
  struct half {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return power(S(x[0] + x[1]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("rows", row{}, unknowns_of(0, n, [&](std::int32_t i) { return std::array{i - 1, i, i + 1 < n ? i + 1 : -1}; }));
    add("halves", half{}, unknowns_of(0, n / 2, [&](std::int32_t i) { return std::array{i, i + n / 2}; }));
  }
  static double start(index_type, index_type) { return 1; }
  static std::optional<known_minimum> minimum(index_type) { return {}; }
};

/// sum q_i (q_i (q_i^2 - 20) - 0.1), q_i = x_i + ... + x_(i+10), up to x_n at most.
struct curly10 : sizes_from<11> {
  static constexpr const char* name = "CURLY10";
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
    std::vector<std::int32_t> windows = neighbours<quartic::unknowns>(0, n);
    for (std::int32_t& unknown : windows)
      if (unknown >= n) unknown = -1;
    add("quartics", quartic{}, windows);
  }
  static double start(index_type j, index_type n) {
    return 1e-4 * static_cast<double>(j + 1) / static_cast<double>(n + 1);
  }
  /// The q_i are as independent as the x_i, so that each quartic can be at its least.
  static std::optional<known_minimum> minimum(index_type n) {
    return known_minimum{-100.31629024133107 * static_cast<double>(n)};
  }
};

/// 1 + sum (i / n)^p x_i^2 + beta sum_(i < n) x_i^2 (x_(i+1) + x_(i+1)^2)^2 + gamma sum_(i <= 2 n / 3) x_i^2
/// x_(i+n/3)^4
/// + delta sum_(i <= n / 3) (i / n)^p x_i x_(i+2n/3). L. C. W. Dixon, Z. Maany, TR 206, Hatfield Polytechnic (1988):
/// version A to D have p = 0 and different factors, E to H p = 1, I to L p = 2.
template <char Version>
struct dixmaan : sizes_from<3, 3> {
  static_assert(Version >= 'A' && Version <= 'L');
  static constexpr char name[] = {'D', 'I', 'X', 'M', 'A', 'A', 'N', Version, '\0'};
  static constexpr int power = (Version - 'A') / 4;
  static constexpr std::array<double, 4> factors{0.125, 0.0625, 0.125, 0.26};
  static constexpr double gamma = factors[(Version - 'A') % 4], beta = (Version - 'A') % 4 == 0 ? 0 : gamma;

  WHILST_HD static double weight(index_type e, index_type n) {
    const double share = static_cast<double>(e + 1) / static_cast<double>(n);
    return power == 0 ? 1 : power == 1 ? share : share * share;
  }
  struct square {
    static constexpr int unknowns = 1;
    index_type n;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      return weight(e, n) * squared(x[0]) + (e == 0 ? 1.0 : 0.0);
    }
  };
  struct neighbour {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return S(beta * squared(S(x[0] * (x[1] + x[1] * x[1]))));
    }
  };
  struct third {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return S(gamma * (squared(x[0]) * fourth_power(x[1])));
    }
  };
  struct two_thirds {
    static constexpr int unknowns = 2;
    index_type n;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      return S(gamma * weight(e, n) * (x[0] * x[1]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    const std::int32_t m = n / 3;
    add("squares", square{n}, neighbours<1>(0, n));
    if constexpr (beta != 0) add("neighbours", neighbour{}, neighbours<2>(0, n - 1));
    add("thirds", third{}, unknowns_of(0, 2 * m, [&](std::int32_t i) { return std::array{i, i + m}; }));
    add("two thirds", two_thirds{n}, unknowns_of(0, m, [&](std::int32_t i) { return std::array{i, i + 2 * m}; }));
  }
  static double start(index_type, index_type) { return 2; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{1}; }
};

/// sum (x_i - i)^4: no couplings, and a Hessian that vanishes at the minimum. A. G. Buckley, report 1989CS-3 as for
/// DIXON3DQ, problem 157; QUARTC is the same.
struct dqrtic : sizes_from<1> {
  static constexpr const char* name = "DQRTIC";
  struct quartic {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      return fourth_power(S(x[0] - static_cast<double>(e + 1)));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("quartics", quartic{}, neighbours<1>(0, n));
  }
  static double start(index_type, index_type) { return 2; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// sum t_i^2 + 4 cos t_i, t_i = x_i + x_j + x_k with j = 1 + (3 i - 2) mod n, k = 1 + (7 i - 3) mod n.
struct noncvxu2 : sizes_from<3> {
  static constexpr const char* name = "NONCVXU2";
  struct well {
    static constexpr int unknowns = 3;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::cos;
      const S t = x[0] + x[1] + x[2];
      return S(t * t + 4.0 * cos(t));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("wells", well{}, unknowns_of(0, n, [&](std::int32_t i) {
          return std::array{i, (3 * i + 1) % n, (7 * i + 4) % n};
        }));
  }
  static double start(index_type j, index_type) { return static_cast<double>(j + 1); }
  /// Where all x_i are the same third of t = 2 sin t.
  static std::optional<known_minimum> minimum(index_type n) {
    return known_minimum{2.316808419788213 * static_cast<double>(n)};
  }
};

/// Six unknowns a term: i, and 1 + (k i - 1) mod n for k = 2, 3, 5, 7, 11.
inline std::vector<std::int32_t> scattered_sixes(std::int32_t n) {
  return unknowns_of(1, n + 1, [&](std::int32_t i) {
    return std::array{i - 1, (2 * i - 1) % n, (3 * i - 1) % n, (5 * i - 1) % n, (7 * i - 1) % n, (11 * i - 1) % n};
  });
}

/// 1/2 sum i (sum of sin x_j over six)^2, the j as in scattered_sixes.
struct sparsine : sizes_from<2> {
  static constexpr const char* name = "SPARSINE";
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
    add("squares", square{}, scattered_sixes(n));
  }
  static double start(index_type, index_type) { return 0.5; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// 1/8 sum i (sum of x_j^2 over six)^2, the j as in scattered_sixes.
struct sparsqur : sizes_from<2> {
  static constexpr const char* name = "SPARSQUR";
  struct square {
    static constexpr int unknowns = 6;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      S sum = x[0] * x[0];
      for (int k = 1; k < unknowns; ++k) sum += x[k] * x[k];
      return S(0.125 * static_cast<double>(e + 1) * (sum * sum));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("squares", square{}, scattered_sixes(n));
  }
  static double start(index_type, index_type) { return 0.5; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

using scattered_problems = problem_list<broydn7d, curly10, dixmaan<'A'>, dixmaan<'D'>, dixmaan<'I'>, dixmaan<'L'>,
                                        dqrtic, noncvxu2, sparsine, sparsqur>;

}  // namespace whilst::test_functions
