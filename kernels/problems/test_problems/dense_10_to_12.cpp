// compiled by nvcc where CUDA is on
#include "kernels/problems/test_problems/dense.hpp"

namespace whilst::test_functions {

template made_problem make_dense<10, 12>(place, std::string_view, index_type);

}  // namespace whilst::test_functions
