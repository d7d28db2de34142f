// compiled by nvcc where CUDA is on
#include "kernels/problems/test_functions/cutest_waves.hpp"

#include "kernels/problems/test_problems/cutest_parts.hpp"

namespace whilst::test_functions {

void describe_wavy(std::vector<cutest_problem>& into) { describe(wavy_problems{}, into); }

}  // namespace whilst::test_functions
