#pragma once

#include <memory>

#include "solvers/linear/block_jacobi/block_inverse.hpp"
#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/linear/preconditioners/block_jacobi_options.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Preconditioner "block_jacobi" for the square matrix of a request. Each solve begins by inverting the blocks of the
/// values that it finds, in one pass over the matrix: so it follows new values, however they come, and a fingerprint
/// that could spare this would read as much. Throws whilst::error on offsets that do not divide the rows into blocks of
/// 1 to 64.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_block_jacobi(const solve_request<T>& matrix, bool symmetric,
                                                            const block_jacobi_options& options);

}  // namespace whilst
