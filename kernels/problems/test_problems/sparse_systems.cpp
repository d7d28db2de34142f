// compiled by nvcc where CUDA is on
#include "kernels/problems/test_problems/systems.hpp"

namespace whilst::test_functions {

template made_system<float> make_system<float, true>(place, std::string_view, index_type);
template made_system<double> make_system<double, true>(place, std::string_view, index_type);

}  // namespace whilst::test_functions
