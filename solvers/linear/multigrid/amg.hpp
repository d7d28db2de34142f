#pragma once

#include <memory>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Algebraic multigrid, for the matrix of a request, whose values lie at matrix.values now.
/// Makes the hierarchy on the matrix's place, and waits; but, if it may go on, not for all: see
/// matrix_preconditioner::finish. symmetric: whether the method wants a symmetric one, of a matrix that is; else it is
/// one for any matrix.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_amg(const solve_request<T>& matrix, bool symmetric,
                                                   const amg_options& options, bool may_go_on = false);

}  // namespace whilst
