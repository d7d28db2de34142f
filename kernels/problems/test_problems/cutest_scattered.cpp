// compiled by nvcc where CUDA is on
#include "kernels/problems/test_functions/cutest_scattered.hpp"

#include "kernels/problems/test_problems/cutest_parts.hpp"

namespace whilst::test_functions {

void describe_scattered(std::vector<cutest_problem>& into) { describe(scattered_problems{}, into); }

}  // namespace whilst::test_functions
