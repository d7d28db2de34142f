#pragma once

#include <cmath>

#include "kernels/problems/test_functions/problem.hpp"

/// Problems 20 to 35, with any number of unknowns. See kernels/problems/test_functions/test_functions.hpp.
namespace whilst::test_functions {

/// For 2 <= n <= 31. All but the last two residuals take time that grows with n.
struct watson {
  static constexpr int number = 20;
  static constexpr const char* name = "Watson";
  index_type n = 6;
  WHILST_HD static constexpr index_type count() { return 31; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    if (i == 29) return x[0];
    if (i == 30) return S(x[1] - x[0] * x[0] - 1.0);
    // The polynomial with coefficients x and its derivative, by Horner's rule.
    const double t = static_cast<double>(i + 1) / 29;
    S value = x[n - 1], slope = 0;
    for (index_type j = n - 2; j >= 0; --j) {
      slope = slope * t + value;
      value = value * t + x[j];
    }
    return S(slope - value * value - 1.0);
  }
  WHILST_HD double start(index_type) const { return 0; }
};

/// For any even n. Sparse.
struct extended_rosenbrock {
  static constexpr int number = 21;
  static constexpr const char* name = "Extended Rosenbrock";
  static constexpr int width = 2;
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  WHILST_HD index_type first(index_type i) const { return i - i % 2; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    const index_type j = first(i);
    return i == j ? S(10.0 * (x[j + 1] - x[j] * x[j])) : S(1.0 - x[j]);
  }
  WHILST_HD double start(index_type j) const { return j % 2 == 0 ? -1.2 : 1; }
};

/// For any n divisible by 4. Sparse.
struct extended_powell_singular {
  static constexpr int number = 22;
  static constexpr const char* name = "Extended Powell singular";
  static constexpr int width = 4;
  index_type n = 4;
  WHILST_HD index_type count() const { return n; }
  WHILST_HD index_type first(index_type i) const { return i - i % 4; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    const index_type j = first(i);
    if (i == j) return S(x[j] + 10.0 * x[j + 1]);
    if (i == j + 1) return S(std::sqrt(5.0) * (x[j + 2] - x[j + 3]));
    const S d = i == j + 2 ? S(x[j + 1] - 2.0 * x[j + 2]) : S(x[j] - x[j + 3]);
    return i == j + 2 ? S(d * d) : S(std::sqrt(10.0) * d * d);
  }
  WHILST_HD double start(index_type j) const {
    static constexpr double x[] = {3, -1, 0, 1};
    return x[j % 4];
  }
};

/// Only the last residual takes time that grows with n.
struct penalty_1 {
  static constexpr int number = 23;
  static constexpr const char* name = "Penalty I";
  index_type n = 4;
  WHILST_HD index_type count() const { return n + 1; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    if (i < n) return S(std::sqrt(1e-5) * (x[i] - 1.0));
    S sum = -0.25;
    for (index_type j = 0; j < n; ++j) sum += x[j] * x[j];
    return sum;
  }
  WHILST_HD double start(index_type j) const { return static_cast<double>(j + 1); }
};

/// Only the last residual takes time that grows with n.
struct penalty_2 {
  static constexpr int number = 24;
  static constexpr const char* name = "Penalty II";
  index_type n = 4;
  WHILST_HD index_type count() const { return 2 * n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double root = std::sqrt(1e-5), k = static_cast<double>(i + 1);
    if (i == 0) return S(x[0] - 0.2);
    if (i < n)
      return S(root * (exp(S(x[i] / 10.0)) + exp(S(x[i - 1] / 10.0)) - (std::exp(k / 10) + std::exp((k - 1) / 10))));
    if (i < 2 * n - 1) return S(root * (exp(S(x[i - n + 1] / 10.0)) - std::exp(-0.1)));
    S sum = -1.0;
    for (index_type j = 0; j < n; ++j) sum += static_cast<double>(n - j) * x[j] * x[j];
    return sum;
  }
  WHILST_HD double start(index_type) const { return 0.5; }
};

/// Only the last two residuals take time that grows with n.
struct variably_dimensioned {
  static constexpr int number = 25;
  static constexpr const char* name = "Variably dimensioned";
  index_type n = 10;
  WHILST_HD index_type count() const { return n + 2; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    if (i < n) return S(x[i] - 1.0);
    S sum = 0;
    for (index_type j = 0; j < n; ++j) sum += static_cast<double>(j + 1) * (x[j] - 1.0);
    return i == n ? sum : S(sum * sum);
  }
  WHILST_HD double start(index_type j) const { return 1 - static_cast<double>(j + 1) / static_cast<double>(n); }
};

struct trigonometric {
  static constexpr int number = 26;
  static constexpr const char* name = "Trigonometric";
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::cos, std::sin;
    using S = scalar_of<X>;
    S sum = static_cast<double>(n);
    for (index_type j = 0; j < n; ++j) sum -= cos(x[j]);
    return S(sum + static_cast<double>(i + 1) * (1.0 - cos(x[i])) - sin(x[i]));
  }
  WHILST_HD double start(index_type) const { return 1 / static_cast<double>(n); }
};

struct brown_almost_linear {
  static constexpr int number = 27;
  static constexpr const char* name = "Brown almost-linear";
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    S total = i < n - 1 ? S(x[i] - static_cast<double>(n + 1)) : S(1);
    for (index_type j = 0; j < n; ++j) total = i < n - 1 ? S(total + x[j]) : S(total * x[j]);
    return i < n - 1 ? total : S(total - 1.0);
  }
  WHILST_HD double start(index_type) const { return 0.5; }
};

/// Sparse.
struct discrete_boundary_value {
  static constexpr int number = 28;
  static constexpr const char* name = "Discrete boundary value";
  static constexpr int width = 3;
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  WHILST_HD index_type first(index_type i) const { return i - 1; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    const double h = 1 / static_cast<double>(n + 1), t = static_cast<double>(i + 1) * h;
    const S a = S(x[i] + (t + 1));
    S r = S(2.0 * x[i] + h * h / 2 * (a * a * a));
    if (i > 0) r -= x[i - 1];
    if (i < n - 1) r -= x[i + 1];
    return r;
  }
  WHILST_HD double start(index_type j) const {
    const double t = static_cast<double>(j + 1) / static_cast<double>(n + 1);
    return t * (t - 1);
  }
};

struct discrete_integral_equation {
  static constexpr int number = 29;
  static constexpr const char* name = "Discrete integral equation";
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    const double h = 1 / static_cast<double>(n + 1), t = static_cast<double>(i + 1) * h;
    S sum = 0;
    for (index_type j = 0; j < n; ++j) {
      const double u = static_cast<double>(j + 1) * h;
      const S a = S(x[j] + (u + 1));
      sum += (j <= i ? (1 - t) * u : t * (1 - u)) * (a * a * a);
    }
    return S(x[i] + h / 2 * sum);
  }
  WHILST_HD double start(index_type j) const { return discrete_boundary_value{n}.start(j); }
};

/// Sparse.
struct broyden_tridiagonal {
  static constexpr int number = 30;
  static constexpr const char* name = "Broyden tridiagonal";
  static constexpr int width = 3;
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  WHILST_HD index_type first(index_type i) const { return i - 1; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    S r = S((3.0 - 2.0 * x[i]) * x[i] + 1.0);
    if (i > 0) r -= x[i - 1];
    if (i < n - 1) r -= 2.0 * x[i + 1];
    return r;
  }
  WHILST_HD double start(index_type) const { return -1; }
};

/// Sparse.
struct broyden_banded {
  static constexpr int number = 31;
  static constexpr const char* name = "Broyden banded";
  static constexpr int below = 5, above = 1, width = below + 1 + above;
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  WHILST_HD index_type first(index_type i) const { return i - below; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    S r = S(x[i] * (2.0 + 5.0 * x[i] * x[i]) + 1.0);
    for (index_type j = i < below ? 0 : i - below; j < n && j <= i + above; ++j)
      if (j != i) r -= x[j] * (1.0 + x[j]);
    return r;
  }
  WHILST_HD double start(index_type) const { return -1; }
};

/// For m >= n residuals.
struct linear_full_rank {
  static constexpr int number = 32;
  static constexpr const char* name = "Linear, full rank";
  index_type n = 5, m = 10;
  WHILST_HD index_type count() const { return m; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    S sum = 0;
    for (index_type j = 0; j < n; ++j) sum += x[j];
    const S r = S(-2 / static_cast<double>(m) * sum - 1.0);
    return i < n ? S(r + x[i]) : r;
  }
  WHILST_HD double start(index_type) const { return 1; }
};

/// For m >= n residuals.
struct linear_rank_1 {
  static constexpr int number = 33;
  static constexpr const char* name = "Linear, rank 1";
  index_type n = 5, m = 10;
  WHILST_HD index_type count() const { return m; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    S sum = 0;
    for (index_type j = 0; j < n; ++j) sum += static_cast<double>(j + 1) * x[j];
    return S(static_cast<double>(i + 1) * sum - 1.0);
  }
  WHILST_HD double start(index_type) const { return 1; }
};

/// For m >= n residuals.
struct linear_rank_1_with_zeros {
  static constexpr int number = 34;
  static constexpr const char* name = "Linear, rank 1, zero columns and rows";
  index_type n = 5, m = 10;
  WHILST_HD index_type count() const { return m; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    if (i == 0 || i == m - 1) return S(-1.0);
    S sum = 0;
    for (index_type j = 1; j < n - 1; ++j) sum += static_cast<double>(j + 1) * x[j];
    return S(static_cast<double>(i) * sum - 1.0);
  }
  WHILST_HD double start(index_type) const { return 1; }
};

/// With m = n. A residual takes time that grows with n and with i.
struct chebyquad {
  static constexpr int number = 35;
  static constexpr const char* name = "Chebyquad";
  index_type n = 8;
  WHILST_HD index_type count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    // Chebyshev polynomial i + 1, shifted to [0, 1]: its mean over x, minus its integral.
    const double k = static_cast<double>(i + 1);
    S sum = 0;
    for (index_type j = 0; j < n; ++j) {
      const S y = S(2.0 * x[j] - 1.0);
      S before = 1, polynomial = y;
      for (index_type degree = 1; degree <= i; ++degree) {
        const S next = S(2.0 * y * polynomial - before);
        before = polynomial;
        polynomial = next;
      }
      sum += polynomial;
    }
    const double integral = i % 2 == 0 ? 0 : -1 / (k * k - 1);
    return S(sum / static_cast<double>(n) - integral);
  }
  WHILST_HD double start(index_type j) const { return static_cast<double>(j + 1) / static_cast<double>(n + 1); }
};

}  // namespace whilst::test_functions
