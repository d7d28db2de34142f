#pragma once

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Most right-hand sides of one solve.
inline constexpr index_type most_columns = 64;

/// Records conjugate gradients for request.systems right-hand sides of one matrix in CSR: alone, with Jacobi, or with a
/// preconditioner in parts that prepares by itself. b, x
/// and outcomes hold the columns one after another. Cancels reach the loop through the first of the outer controls.
template <class T>
recorded_solve<T> record_columns(const solve_request<T>& request);
/// The same for one width of the row offsets, each compiled by itself.
template <class T, class Offset>
recorded_solve<T> record_columns_with(const solve_request<T>& request);

}  // namespace whilst
