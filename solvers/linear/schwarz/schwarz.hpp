#pragma once

#include <memory>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "solvers/linear/schwarz/row_sets.hpp"
#include "whilst/linear/preconditioners/schwarz_options.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Preconditioner "schwarz" for the square matrix of a request: the sum over subdomains s of R_s' A_s^-1 R_s, where R_s
/// picks the rows of s. For any A, each row keeps the answer of the subdomain whose own it is: X.-C. Cai, M. Sarkis,
/// "A restricted additive Schwarz preconditioner for general sparse linear systems", SIAM J. Sci. Comput. 21 (1999)
/// 792-797. Under methods for a symmetric A, M is to be symmetric: what a row gives to a subdomain and what it gets
/// back are divided by the root of how many have it.
///
/// Subdomains are found once, by the host, from the values at hand. Each solve begins by inverting them, from the
/// values that it finds, as block_jacobi does, with the same pivots and the same answer to what has no inverse.
///
/// With overlap 0 these are blocks of block_jacobi, and the description calls them so.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_schwarz(const solve_request<T>& matrix, bool symmetric,
                                                       const schwarz_options& options);

}  // namespace whilst
