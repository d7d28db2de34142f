#pragma once

#include <cmath>
#include <vector>

#include "kernels/problems/test_problems/cutest_problems.hpp"

namespace whilst_bench {

/// f and the norm of its gradient at a point, computed by this program.
struct true_gradient {
  double value = NAN, norm = NAN;
  /// By how much the gradient changes where each unknown moves to a neighbouring number: whoever computes it in double
  /// may be off by as much.
  double rounding = 0;

  bool within(double tolerance) const { return norm <= tolerance + rounding; }
};
true_gradient gradient_at(const whilst::cutest_problem& problem, const std::vector<double>& x);

}  // namespace whilst_bench
