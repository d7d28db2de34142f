#pragma once

#include <array>
#include <cmath>

#include "kernels/problems/test_functions/cutest_problem.hpp"

/// Problems in which one unknown or two occur in every term. See kernels/problems/test_functions/cutest.hpp.
namespace whilst::test_functions {

/// sum_(i < n) (x_i^2 + x_n^2)^2 - 4 x_i + 3.
struct arwhead : sizes_from<2> {
  static constexpr const char* name = "ARWHEAD";
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
    add("heads", head{}, unknowns_of(0, n - 1, [&](std::int32_t i) { return std::array{i, n - 1}; }));
  }
  static double start(index_type, index_type) { return 1; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// sum_(i <= n - 4) (3 - 4 x_i)^2 + (x_i^2 + 2 x_(i+1)^2 + 3 x_(i+2)^2 + 4 x_(i+3)^2 + 5 x_n^2)^2. A. R. Conn, N. I. M.
/// Gould, M. Lescrenier, P. L. Toint, report 88/4, FUNDP Namur (1988), problem 61.
struct bdqrtic : sizes_from<5> {
  static constexpr const char* name = "BDQRTIC";
  struct band {
    static constexpr int unknowns = 5;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      S sum = x[0] * x[0];
      for (int k = 1; k < unknowns; ++k) sum += (k + 1.0) * (x[k] * x[k]);
      return squared(S(3.0 - 4.0 * x[0])) + squared(sum);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("bands", band{}, unknowns_of(0, n - 4, [&](std::int32_t i) {
          return std::array{i, i + 1, i + 2, i + 3, n - 1};
        }));
  }
  static double start(index_type, index_type) { return 1; }
  static std::optional<known_minimum> minimum(index_type n) {
    return find_published(n, {{100, {378.769, 1e-3}}, {500, {1981.01, 1e-2}}, {1000, {3983.82, 1e-2}}});
  }
};

/// sum_(i < n) sin(x_1 + x_i^2 - 1) + sin(x_n^2) / 2. A. R. Conn, N. I. M. Gould, P. L. Toint, "LANCELOT" (1992),
/// section 1.2.4. Has many minima; every sine can be -1.
struct eg2 : sizes_from<2> {
  static constexpr const char* name = "EG2";
  struct wave {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::sin;
      return sin(S(x[0] + x[1] * x[1] - 1.0));
    }
  };
  struct last {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      using std::sin;
      return S(0.5 * sin(squared(x[0])));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("waves", wave{}, unknowns_of(0, n - 1, [](std::int32_t i) { return std::array{0, i}; }));
    add("last", last{}, std::vector<std::int32_t>{n - 1});
  }
  static double start(index_type, index_type) { return 0; }
  static std::optional<known_minimum> minimum(index_type n) { return known_minimum{0.5 - static_cast<double>(n)}; }
};

/// sum x_i + 1/2 sum_(1 < i < n) cos(2 x_i - x_n - x_1): no minimum.
struct indef : sizes_from<3> {
  static constexpr const char* name = "INDEF";
  static constexpr bool is_unbounded = true;
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
    add("x", line{}, neighbours<1>(0, n));
    add("waves", wave{}, unknowns_of(1, n - 1, [&](std::int32_t i) { return std::array{i, n - 1, 0}; }));
  }
  static double start(index_type j, index_type n) { return static_cast<double>(j + 1) / static_cast<double>(n + 1); }
  static std::optional<known_minimum> minimum(index_type) { return {}; }
};

/// sum 4 (x_i^2 - x_1)^2 + (x_i - 1)^2. G. Li, SIAM J. Optim. (1990), after D. F. Shanno's nondiagonal function.
struct liarwhd : sizes_from<2> {
  static constexpr const char* name = "LIARWHD";
  struct arrow {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return 4.0 * squared(S(x[1] * x[1] - x[0])) + squared(S(x[1] - 1.0));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("arrows", arrow{}, unknowns_of(0, n, [](std::int32_t i) { return std::array{0, i}; }));
  }
  static double start(index_type, index_type) { return 4; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// (x_1 - 1)^2 + 100 sum_(i < n) (x_1 - x_i^2)^2: D. F. Shanno's nondiagonal Rosenbrock function (1978).
struct nondia : sizes_from<2> {
  static constexpr const char* name = "NONDIA";
  struct first {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[0] - 1.0));
    }
  };
  struct valley {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return 100.0 * squared(S(x[0] - x[1] * x[1]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("first", first{}, std::vector<std::int32_t>{0});
    add("valleys", valley{}, unknowns_of(0, n - 1, [](std::int32_t i) { return std::array{0, i}; }));
  }
  static double start(index_type, index_type) { return -1; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// (x_1 - x_2)^2 + (x_(n-1) - x_n)^2 + sum_(i <= n - 2) (x_i + x_(i+1) + x_n)^4: its Hessian is singular at the
/// minimum. Report 88/4 as for BDQRTIC, problem 57.
struct nondquar : sizes_from<4, 2> {
  static constexpr const char* name = "NONDQUAR";
  struct end {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[0] - x[1]));
    }
  };
  struct quartic {
    static constexpr int unknowns = 3;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return fourth_power(S(x[0] + x[1] + x[2]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("ends", end{}, std::vector<std::int32_t>{0, 1, n - 2, n - 1});
    add("quartics", quartic{}, unknowns_of(0, n - 2, [&](std::int32_t i) { return std::array{i, i + 1, n - 1}; }));
  }
  static double start(index_type j, index_type) { return j % 2 == 0 ? 1 : -1; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// (x_1 - 1)^4 + (x_n^2 - x_1^2)^2 + sum_(1 < i < n) sin(x_i - x_n) - x_1^2 + x_i^2: its minimum is about -n^2 / 4.
struct sinquad : sizes_from<3> {
  static constexpr const char* name = "SINQUAD";
  struct first {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return fourth_power(S(x[0] - 1.0));
    }
  };
  struct last {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[1] * x[1] - x[0] * x[0]));
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
    add("first", first{}, std::vector<std::int32_t>{0});
    add("last", last{}, std::vector<std::int32_t>{0, n - 1});
    add("middle", middle{}, unknowns_of(1, n - 1, [&](std::int32_t i) { return std::array{i, 0, n - 1}; }));
  }
  static double start(index_type, index_type) { return 0.1; }
  static std::optional<known_minimum> minimum(index_type n) { return find_published(n, {{5000, {-6.757014e6, 1}}}); }
};

/// (x_1 - 1)^2 + sum_(i > 1) (x_1^2 - x_i^2)^2.
struct tquartic : sizes_from<2> {
  static constexpr const char* name = "TQUARTIC";
  struct first {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[0] - 1.0));
    }
  };
  struct quartic {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[0] * x[0] - x[1] * x[1]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("first", first{}, std::vector<std::int32_t>{0});
    add("quartics", quartic{}, unknowns_of(1, n, [](std::int32_t i) { return std::array{0, i}; }));
  }
  static double start(index_type, index_type) { return 0.1; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

using bordered_problems = problem_list<arwhead, bdqrtic, eg2, indef, liarwhd, nondia, nondquar, sinquad, tquartic>;

}  // namespace whilst::test_functions
