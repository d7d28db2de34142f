#pragma once

#include "kernels/problems/test_functions/cutest_problem.hpp"
#include "kernels/problems/test_functions/fixed_size.hpp"
#include "kernels/problems/test_functions/problem.hpp"

/// Problems whose terms are polynomials of neighbours. See kernels/problems/test_functions/cutest.hpp.
namespace whilst::test_functions {

/// Wood's function of each four unknowns that begin at an odd one, and 1. A. R. Conn, N. I. M. Gould, P. L. Toint,
/// Math. Comput. 50 (1988), problem 8.
struct chainwoo : sizes_from<4, 2> {
  static constexpr const char* name = "CHAINWOO";
  struct link {
    static constexpr int unknowns = 4;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      return sum_of_squares(wood{}, x) + (e == 0 ? 1.0 : 0.0);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("links", link{}, neighbours<4>(0, n - 3, 2));
  }
  static double start(index_type j, index_type) { return j >= 4 ? -2 : j % 2 == 0 ? -3 : -1; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{1}; }
};

/// (x_1 - 1)^2 + sum_(1 < i < n) (x_i - x_(i+1))^2 + (x_n - 1)^2. A. G. Buckley, "Test functions for unconstrained
/// minimization", TR 1989CS-3, Dalhousie University (1989), problem 156.
struct dixon3dq : sizes_from<3> {
  static constexpr const char* name = "DIXON3DQ";
  struct end {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[0] - 1.0));
    }
  };
  struct link {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[0] - x[1]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("ends", end{}, std::vector<std::int32_t>{0, n - 1});
    add("links", link{}, neighbours<2>(1, n - 1));
  }
  static double start(index_type, index_type) { return -1; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// sum_(i <= n - 2) x_i^2 + 100 x_(i+1)^2 + 100 x_(i+2)^2. Report 83/4, problem 22.
struct dqdrtic : sizes_from<3> {
  static constexpr const char* name = "DQDRTIC";
  struct triple {
    static constexpr int unknowns = 3;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return S(x[0] * x[0] + 100.0 * (x[1] * x[1]) + 100.0 * (x[2] * x[2]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("triples", triple{}, neighbours<3>(0, n - 2));
  }
  static double start(index_type, index_type) { return 3; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// 16 + sum_(i < n) (x_i - 2)^4 + (x_i x_(i+1) - 2 x_(i+1))^2 + (x_(i+1) + 1)^2: J. E. Dennis's and R. B. Schnabel's,
/// extended by G. Li, SIAM J. Optim. (1990).
struct edensch : sizes_from<2> {
  static constexpr const char* name = "EDENSCH";
  struct pair {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      return S(fourth_power(S(x[0] - 2.0)) + squared(S(x[0] * x[1] - 2.0 * x[1])) + squared(S(x[1] + 1.0)) +
               (e == 0 ? 16.0 : 0.0));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("pairs", pair{}, neighbours<2>(0, n - 1));
  }
  static double start(index_type, index_type) { return 8; }
  static std::optional<known_minimum> minimum(index_type n) {
    return find_published(n, {{36, {219.28, 1e-2}}, {2000, {12003.2, 0.1}}});
  }
};

/// sum_(i < n) (x_i^2 + x_(i+1)^2)^2 - 4 x_i + 3. Report 83/4, problem 31.
struct engval1 : sizes_from<2> {
  static constexpr const char* name = "ENGVAL1";
  struct pair {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return S(squared(S(x[0] * x[0] + x[1] * x[1])) - 4.0 * x[0] + 3.0);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("pairs", pair{}, neighbours<2>(0, n - 1));
  }
  static double start(index_type, index_type) { return 2; }
  static std::optional<known_minimum> minimum(index_type n) { return find_published(n, {{2, {0}}}); }
};

/// Rosenbrock's function of each pair of neighbours, sum_(i < n) 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2. R. Fletcher,
/// "An optimal positive definite update for sparse Hessian matrices", report NA/145, Dundee (1992), the second problem.
struct fletchcr : sizes_from<2> {
  static constexpr const char* name = "FLETCHCR";
  struct pair {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return sum_of_squares(rosenbrock{}, x);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("pairs", pair{}, neighbours<2>(0, n - 1));
  }
  static double start(index_type, index_type) { return 0; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// Freudenstein's and Roth's function of each pair of neighbours. Report 83/4, problem 33.
struct freuroth : sizes_from<2> {
  static constexpr const char* name = "FREUROTH";
  struct pair {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return sum_of_squares(freudenstein_and_roth{}, x);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("pairs", pair{}, neighbours<2>(0, n - 1));
  }
  static double start(index_type j, index_type) { return j == 0 ? 0.5 : j == 1 ? -2 : 0; }
  static std::optional<known_minimum> minimum(index_type n) {
    return find_published(n, {{2, {0}},
                              {10, {1014.1, 0.1}},
                              {50, {5881.0, 0.1}},
                              {100, {11965, 1}},
                              {500, {60634, 1}},
                              {1000, {121470, 10}},
                              {5000, {608160, 10}}});
  }
};

/// 1 + sum_(i > 1) 100 (x_i - x_(i-1)^2)^2 + (x_i - 1)^2. S. G. Nash, SIAM J. Numer. Anal. 21 (1984), problem 5.
struct genrose : sizes_from<2> {
  static constexpr const char* name = "GENROSE";
  struct pair {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      return S(100.0 * squared(S(x[1] - x[0] * x[0])) + squared(S(x[1] - 1.0)) + (e == 0 ? 1.0 : 0.0));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("pairs", pair{}, neighbours<2>(0, n - 1));
  }
  static double start(index_type j, index_type n) { return static_cast<double>(j + 1) / static_cast<double>(n + 1); }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{1}; }
};

/// (x_1 - 1)^2 + sum_(i > 1) i (2 x_i - x_(i-1))^2: D. F. Shanno's TRIDIA. Report 83/4, problem 8.
struct tridia : sizes_from<2> {
  static constexpr const char* name = "TRIDIA";
  struct first {
    static constexpr int unknowns = 1;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return squared(S(x[0] - 1.0));
    }
  };
  struct pair {
    static constexpr int unknowns = 2;
    template <class S>
    WHILST_HD S operator()(index_type e, const S* x) const {
      return static_cast<double>(e + 2) * squared(S(2.0 * x[1] - x[0]));
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add("first", first{}, std::vector<std::int32_t>{0});
    add("pairs", pair{}, neighbours<2>(0, n - 1));
  }
  static double start(index_type, index_type) { return 1; }
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

using chained_problems =
    problem_list<chainwoo, dixon3dq, dqdrtic, edensch, engval1, fletchcr, freuroth, genrose, tridia>;

}  // namespace whilst::test_functions
