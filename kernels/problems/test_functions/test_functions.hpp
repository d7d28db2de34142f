#pragma once

#include <vector>

#include "kernels/problems/test_functions/fixed_size.hpp"
#include "kernels/problems/test_functions/problem.hpp"
#include "kernels/problems/test_functions/variable_size.hpp"

/// The 35 problems of J. J. More, B. S. Garbow, K. E. Hillstrom, "Testing unconstrained optimization software", ACM
/// Transactions on Mathematical Software 7 (1981), in its order and from its formulas: f(x) = sum of r_i(x)^2, with no
/// factor 1/2.
///
/// A problem has
/// - `number` and `name`, those of the paper;
/// - `n`, the number of unknowns: a constant where the paper fixes it, else a member to set; and `count()`, the number
///   of residuals, for the linear functions a member `m` to set as well;
/// - `residual(i, x)`, r_i for 0 <= i < count(). x is whatever has x[j] for 0 <= j < n: a pointer to doubles, floats or
///   duals, or a window (problem.hpp). What is asked of a number is + - * /, also with a double on either side, and
///   functions that are found by argument-dependent lookup; what does not depend on x is computed in double;
/// - `start(j)`, entry j of the standard starting point.
///
/// Some of the problems with many unknowns are sparse: residual i reads only x[j] with first(i) <= j < first(i) +
/// width; of these, indices outside 0 .. n - 1 do not exist. Its derivatives then are `residual(i, window<T, width>{x,
/// first(i)})` at a cost that does not grow with n. In the others, some or all residuals take time that grows with n.
///
/// Unknowns are counted from 0 here, and from 1 in the paper: k = i + 1 in the code is its i.
namespace whilst::test_functions {

/// The minima that the paper lists for a problem at its n and m, to six digits.
struct published_minima {
  /// The global minimum of f.
  double global;
  /// Other listed values: local minima, and infima approached far out.
  std::vector<double> local = {};
};

/// Calls use(problem, minima) for each problem in the paper's order, scalable ones at one size or more: problem is a
/// problem_of_size, minima its published_minima.
template <class Use>
void for_each_test_function(const Use& use) {
  use(of_size<2>(rosenbrock{}), published_minima{0});
  use(of_size<2>(freudenstein_and_roth{}), published_minima{0, {48.9842}});
  use(of_size<2>(powell_badly_scaled{}), published_minima{0});
  use(of_size<2>(brown_badly_scaled{}), published_minima{0});
  use(of_size<2>(beale{}), published_minima{0});
  use(of_size<2>(jennrich_and_sampson{}), published_minima{124.362});
  use(of_size<3>(helical_valley{}), published_minima{0});
  use(of_size<3>(bard{}), published_minima{8.21487e-3, {17.4286}});
  use(of_size<3>(gaussian{}), published_minima{1.12793e-8});
  use(of_size<3>(meyer{}), published_minima{87.9458});
  use(of_size<3>(gulf_research_and_development{}), published_minima{0});
  use(of_size<3>(box_three_dimensional{}), published_minima{0});
  use(of_size<4>(powell_singular{}), published_minima{0});
  use(of_size<4>(wood{}), published_minima{0});
  use(of_size<4>(kowalik_and_osborne{}), published_minima{3.07505e-4, {1.02734e-3}});
  use(of_size<4>(brown_and_dennis{}), published_minima{85822.2});
  use(of_size<5>(osborne_1{}), published_minima{5.46489e-5});
  use(of_size<6>(biggs_exp6{}), published_minima{0, {5.65565e-3}});
  use(of_size<11>(osborne_2{}), published_minima{4.01377e-2});
  use(of_size<6>(watson{6}), published_minima{2.28767e-3});
  use(of_size<9>(watson{9}), published_minima{1.39976e-6});
  use(of_size<12>(watson{12}), published_minima{4.72238e-10});
  use(of_size<10>(extended_rosenbrock{10}), published_minima{0});
  use(of_size<8>(extended_powell_singular{8}), published_minima{0});
  use(of_size<4>(penalty_1{4}), published_minima{2.24997e-5});
  use(of_size<10>(penalty_1{10}), published_minima{7.08765e-5});
  use(of_size<4>(penalty_2{4}), published_minima{9.37629e-6});
  use(of_size<10>(penalty_2{10}), published_minima{2.93660e-4});
  use(of_size<10>(variably_dimensioned{10}), published_minima{0});
  use(of_size<10>(trigonometric{10}), published_minima{0, {2.79506e-5}});
  use(of_size<10>(brown_almost_linear{10}), published_minima{0, {1}});
  use(of_size<10>(discrete_boundary_value{10}), published_minima{0});
  use(of_size<10>(discrete_integral_equation{10}), published_minima{0});
  use(of_size<10>(broyden_tridiagonal{10}), published_minima{0});
  use(of_size<10>(broyden_banded{10}), published_minima{0});
  // With m = 10 and n = 5: m - n, m (m - 1) / (2 (2 m + 1)) and (m^2 + 3 m - 6) / (2 (2 m - 3)).
  use(of_size<5>(linear_full_rank{5, 10}), published_minima{5});
  use(of_size<5>(linear_rank_1{5, 10}), published_minima{15.0 / 7});
  use(of_size<5>(linear_rank_1_with_zeros{5, 10}), published_minima{62.0 / 17});
  use(of_size<8>(chebyquad{8}), published_minima{3.51687e-3});
  use(of_size<9>(chebyquad{9}), published_minima{0});
  use(of_size<10>(chebyquad{10}), published_minima{6.50395e-3});
}

}  // namespace whilst::test_functions
