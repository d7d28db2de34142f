#pragma once

#include "kernels/problems/test_functions/cutest_bordered.hpp"
#include "kernels/problems/test_functions/cutest_chained.hpp"
#include "kernels/problems/test_functions/cutest_scattered.hpp"
#include "kernels/problems/test_functions/cutest_sums_of_squares.hpp"
#include "kernels/problems/test_functions/cutest_waves.hpp"

/// Functions of N. I. M. Gould, D. Orban, P. L. Toint, "CUTEst: a constrained and unconstrained testing environment
/// with safe threads for mathematical optimization", Comput. Optim. Appl. 60 (2015), of many unknowns and without
/// constraints, from their formulas; where a comment names no other source, the problem's file in CUTEst is the only
/// one. Each is a sum of terms for partially_separable, and has
/// - `name`, CUTEst's;
/// - `least` and `multiple`: how many unknowns it may have;
/// - `wire(n, add)`, which calls add(name, term, unknowns of each term) for each kind of term;
/// - `start(j, n)`, entry j of the standard starting point, from 0;
/// - `minimum(n)`, the least value with n unknowns: where it has a closed form this, else what CUTEst's file of the
///   problem gives;
/// - `is_unbounded` if it has no minimum.
/// Unknowns are counted from 0 in the code, and from 1 in the formulas. A constant belongs to the first term.
/// "Report 83/4" is P. L. Toint, "Test problems for partially separable optimization and results for the routine
/// PSPMIN", FUNDP Namur (1983).
namespace whilst::test_functions {

/// All of them.
template <class Use>
void for_each_cutest_problem(const Use& use) {
  for_each_problem(bordered_problems{}, use);
  for_each_problem(chained_problems{}, use);
  for_each_problem(scattered_problems{}, use);
  for_each_problem(summed_squares_problems{}, use);
  for_each_problem(wavy_problems{}, use);
}

}  // namespace whilst::test_functions
