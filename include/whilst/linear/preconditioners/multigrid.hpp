#pragma once

#include <memory>

#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/preconditioners/multigrid_options.hpp"

namespace whilst {

/// Geometric multigrid for the 5- or 7-point Laplacian on a grid, for solvers whose operator has no matrix:
/// @code
///   const whilst::poisson_3d_operator<double> A{100, 80, 60};
///   const auto M = whilst::make_multigrid<double>(whilst::place::gpu(0), A);
///   auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(
///       A, whilst::composed_preconditioner<double>{M.get()});  // M must outlive the solver
/// @endcode
/// A linear_solver takes it, too, and makes its own from a matrix: preconditioner "multigrid". M is symmetric and
/// positive definite, but for rounding in the cycle's numbers. It serves one solver, which runs at `where`. Throws
/// whilst::error on an empty grid, on one of 2^31 points or more, and on settings out of range. For method cr, set
/// options.precision to "double".
template <class T>
std::unique_ptr<preconditioner<T>> make_multigrid(place where, const poisson_2d_operator<T>& A,
                                                  const multigrid_options& options = {});
template <class T>
std::unique_ptr<preconditioner<T>> make_multigrid(place where, const poisson_3d_operator<T>& A,
                                                  const multigrid_options& options = {});

}  // namespace whilst
