// compiled by nvcc where CUDA is on
#include "kernels/problems/test_functions/cutest_bordered.hpp"

#include "kernels/problems/test_problems/cutest_parts.hpp"

namespace whilst::test_functions {

void describe_bordered(std::vector<cutest_problem>& into) { describe(bordered_problems{}, into); }

}  // namespace whilst::test_functions
