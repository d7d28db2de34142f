#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/problems/test_functions/cutest_problem.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

/// @file
/// The problems of kernels/problems/test_functions/cutest.hpp as objectives, compiled once: link the target
/// whilst_test_problems.

namespace whilst {

struct value_and_gradient {
  double value = 0;
  std::vector<double> gradient;
};

/// One of the problems, at all its sizes.
struct cutest_problem {
  const char* name;
  /// The number of unknowns is a multiple of `multiple`, `least` or more.
  index_type least, multiple;
  bool is_unbounded;
  /// The least value with n unknowns, if it is known.
  std::optional<test_functions::known_minimum> (*minimum)(index_type n);
  /// The standard starting point.
  std::vector<double> (*start)(index_type n);
  /// As a partially_separable on a place. Throws whilst::error if there is no such number of unknowns.
  std::unique_ptr<objective<double>> (*make)(place where, index_type n);
  /// f and its gradient at x, on the host: term by term, by none of the code that adds terms up for minimizers.
  value_and_gradient (*evaluate)(const std::vector<double>& x);

  /// The smallest number of unknowns that is n or more.
  index_type size_from(index_type n) const;
};

/// All of them, in the order of the alphabet.
const std::vector<cutest_problem>& cutest_problems();

/// The problem of that name, in upper or lower case. Throws whilst::error if there is none.
const cutest_problem& find_cutest_problem(std::string_view name);

}  // namespace whilst
