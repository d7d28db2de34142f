#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problems/test_functions/test_functions.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

/// @file
/// The problems of kernels/problems/test_functions/test_functions.hpp as objectives, compiled once: link the target
/// whilst_test_problems.

namespace whilst {

/// One of the problems at one size.
struct test_problem {
  /// In lower case with dashes: "extended-rosenbrock".
  std::string name;
  /// The paper's name.
  std::string title;
  int number = 0;
  /// Number of unknowns and of residuals.
  index_type n = 0, residuals = 0;
  /// If sparse, it comes in other sizes: any multiple of this; 0: only in those of the paper.
  index_type multiple = 0;
  test_functions::published_minima minima;
  /// The standard starting point: n entries.
  std::vector<double> start;
};

/// All of them at the paper's sizes, in its order: 35 problems, a few of them in more than one size.
const std::vector<test_problem>& test_problems();

/// The problem of that name with n unknowns; 0: the first of the paper's sizes. Throws whilst::error if there is none.
test_problem find_test_problem(std::string_view name, index_type n = 0);

/// Whether f is one of the published minima, local ones included: |f - f*| <= 1e-8 max(1, |f*|), plus one unit in the
/// last of the six published digits.
bool is_published_minimum(double f, const test_functions::published_minima& minima);

/// Such a problem as a function to minimize: the sum of its squared residuals, without a factor 1/2. Dense ones have a
/// term of all n unknowns per residual; in sparse ones, residuals of the same unknowns share one term. On a place as
/// partially_separable. Throws as find_test_problem does.
std::unique_ptr<objective<double>> make_test_problem(place where, std::string_view name, index_type n = 0);

}  // namespace whilst
