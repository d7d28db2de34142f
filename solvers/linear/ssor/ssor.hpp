#pragma once

#include <memory>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/linear/preconditioners/ssor_options.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

inline constexpr int most_sweeps_of_ssor = 8;

/// Preconditioner "ssor" for the square matrix of a request, whose rows are coloured here; waits. Each solve begins by
/// copying the values that it finds, in the order in which sweeps read them. symmetric: takes sizes of the diagonal,
/// and the other sign of entries between two negative ones, so that M is positive definite for every symmetric A.
/// Settings have been checked. Throws whilst::error where rows take too many colours, or nonzeros are more than 32 bits
/// count.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_ssor(const solve_request<T>& matrix, bool symmetric,
                                                    const ssor_options& options);

}  // namespace whilst
