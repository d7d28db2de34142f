// compiled by nvcc where CUDA is on
#include "kernels/problems/test_functions/cutest_sums_of_squares.hpp"

#include "kernels/problems/test_problems/cutest_parts.hpp"

namespace whilst::test_functions {

void describe_summed_squares(std::vector<cutest_problem>& into) { describe(summed_squares_problems{}, into); }

}  // namespace whilst::test_functions
