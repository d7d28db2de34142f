#pragma once

#include "whilst/linear/eigenvalue_range.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Records and runs Lanczos steps on a matrix in CSR.
template <class T>
eigenvalue_range measure_eigenvalue_range(const solve_request<T>& matrix, executor how, int steps);

}  // namespace whilst
