#pragma once

#include <cmath>

#include "kernels/problems/test_functions/problem.hpp"

namespace whilst::test_functions {

/// G. Bratu's equation, -u_xx - u_yy = parameter exp(u) on the unit square with u = 0 on the boundary, by finite
/// differences on side * side interior points, row by row, times h^2: solid fuel ignition in B. M. Averick, R. G.
/// Carter, J. J. More, G.-L. Xue, "The MINPACK-2 test problem collection", report MCS-P153-0692, Argonne (1992). Below
/// a parameter of about 6.8 it has two solutions; the start here, u = 0, leads to the lower. Sparse.
struct bratu {
  static constexpr int number = 0;  // not from More, Garbow and Hillstrom
  static constexpr const char* name = "Bratu";
  static constexpr int width = 5;
  index_type n, side;
  double parameter = 5;

  /// n must be a square number.
  WHILST_HD explicit bratu(index_type n)
      : n(n), side(static_cast<index_type>(std::sqrt(static_cast<double>(n)) + 0.5)) {}
  WHILST_HD index_type count() const { return n; }

  /// The unknowns that equation i reads: its own point and those to the left, to the right, below and above. -1 if that
  /// point lies on the boundary.
  WHILST_HD index_type neighbour(index_type i, int k) const {
    switch (k) {
      case 0:
        return i;
      case 1:
        return i % side > 0 ? i - 1 : -1;
      case 2:
        return i % side < side - 1 ? i + 1 : -1;
      case 3:
        return i >= side ? i - side : -1;
      default:
        return i < n - side ? i + side : -1;
    }
  }
  /// The k with neighbour(i, k) == j, if j >= 0 is one of them.
  WHILST_HD index_type position(index_type i, index_type j) const {
    return j == i ? 0 : j == i - 1 ? 1 : j == i + 1 ? 2 : j < i ? 3 : 4;
  }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using std::exp;
    using S = scalar_of<X>;
    const double h = 1 / static_cast<double>(side + 1);
    S r = S(4.0 * x[i] - parameter * h * h * exp(x[i]));
    for (int k = 1; k < width; ++k)
      if (neighbour(i, k) >= 0) r -= x[neighbour(i, k)];
    return r;
  }
  WHILST_HD double start(index_type) const { return 0; }
};

}  // namespace whilst::test_functions
