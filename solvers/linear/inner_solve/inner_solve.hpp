#pragma once

#include <memory>

#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {

/// Preconditioner "solve": z is what some iterations of a method find for A z = r, from z = 0. Their number depends on
/// r, and most methods find no linear function of r: so M is for flexible methods. The loop is recorded in the body of
/// the outer one; it costs three passes over vectors besides its iterations, since it has no true residual of its own
/// to check.
///
/// method: the inner one, by name. options: with its preconditioner. Throws whilst::error where it cannot be within
/// another.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_inner_solve(const matrix_to_precondition<T>& matrix,
                                                           const std::string& method,
                                                           const linear_solver_options& options);

}  // namespace whilst
