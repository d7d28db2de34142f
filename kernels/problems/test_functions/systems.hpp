#pragma once

#include <vector>

#include "kernels/problems/test_functions/bratu.hpp"
#include "kernels/problems/test_functions/fixed_size.hpp"
#include "kernels/problems/test_functions/variable_size.hpp"

/// Problems with as many residuals as unknowns, as systems of equations F(x) = 0 whose roots are known or certain to
/// exist.
namespace whilst::test_functions {

/// Half of the gradient of variably_dimensioned, since it has two residuals more than unknowns: the collection's own
/// programs make a system of it the same way.
struct variably_dimensioned_gradient {
  static constexpr int number = variably_dimensioned::number;
  static constexpr const char* name = variably_dimensioned::name;
  index_type n = 10;
  WHILST_HD index_type count() const { return n; }
  template <class X>
  WHILST_HD scalar_of<X> residual(index_type i, const X& x) const {
    using S = scalar_of<X>;
    S sum = 0;
    for (index_type j = 0; j < n; ++j) sum += static_cast<double>(j + 1) * (x[j] - 1.0);
    return S(x[i] - 1.0 + static_cast<double>(i + 1) * (sum + 2.0 * (sum * sum * sum)));
  }
  WHILST_HD double start(index_type j) const { return variably_dimensioned{n}.start(j); }
};

/// A root with a closed form: these values repeated. None if there is no formula. There may be other roots.
struct known_root {
  std::vector<double> values = {};
};

/// Calls use(problem, root) for each system: those of the paper in its order, then Bratu's equation. problem is a
/// problem_of_size, or a sparse problem of any size, at its usual one.
template <class Use>
void for_each_test_system(const Use& use) {
  use(of_size<2>(rosenbrock{}), known_root{{1}});
  use(of_size<2>(freudenstein_and_roth{}), known_root{{5, 4}});
  use(of_size<2>(powell_badly_scaled{}), known_root{{1.0981593296998175e-05, 9.106146739866524}});
  use(of_size<3>(helical_valley{}), known_root{{1, 0, 0}});
  use(of_size<4>(powell_singular{}), known_root{{0}});
  use(extended_rosenbrock{10}, known_root{{1}});
  use(extended_powell_singular{8}, known_root{{0}});
  use(of_size<10>(variably_dimensioned_gradient{10}), known_root{{1}});
  use(of_size<10>(trigonometric{10}), known_root{{0}});
  use(of_size<10>(brown_almost_linear{10}), known_root{{1}});
  use(discrete_boundary_value{10}, known_root{});
  use(of_size<10>(discrete_integral_equation{10}), known_root{});
  use(broyden_tridiagonal{10}, known_root{});
  use(broyden_banded{10}, known_root{});
  use(of_size<9>(chebyquad{9}), known_root{});
  use(bratu{100}, known_root{});
}

}  // namespace whilst::test_functions
