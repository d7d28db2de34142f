#pragma once

#include <memory>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/linear/preconditioners/fsai_options.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// fsai: M = G'G for a symmetric definite A, with a sparse triangle G. spai: a sparse M for any A.
enum class approximate_inverse_kind { fsai, spai };

/// A sparse approximate inverse of the matrix of a request, whose values lie at matrix.values now. Makes pattern and
/// values on the matrix's place, and waits.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_approximate_inverse(const solve_request<T>& matrix,
                                                                   approximate_inverse_kind kind,
                                                                   const fsai_options& options);

}  // namespace whilst
