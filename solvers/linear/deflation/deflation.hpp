#pragma once

#include <memory>
#include <string_view>

#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Deflation of the vectors Z that options give, n x k: a preconditioner M is replaced by one that solves in their span
/// directly. With E = Z'A Z, Q = Z E^-1 Z' and P = I - A Q, that is
///
///   for methods that want a symmetric A   P'M P + Q   balancing, BNN
///   for the others                        M P + Q     adapted deflation, A-DEF1
///
/// of J. M. Tang, R. Nabben, C. Vuik, Y. A. Erlangga, J. Sci. Comput. 39 (2009) 340-370, table 1. Times A, both have
/// the eigenvalues of M P A, but 1 where those are 0. The first is symmetric for any residual, so that solves may begin
/// and restart anywhere; A-DEF2 of the same table is cheaper, but symmetric only where Z'r is 0, which rounding ends.
/// Methods of the second kind need no symmetry, and would have to ask A for products with its transpose. Neither needs
/// a product with A, since A Z is kept.
///
/// Beside an indefinite A, methods that want a definite M take the sizes of E's eigenvalues in Q, whose part of M A
/// then has the eigenvalues 1 and -1.

inline bool has_deflation(const linear_solver_options& options) { return !options.deflation.empty(); }

/// The vectors where a solver needs them, and what solves make from them.
template <class T>
class deflation {
 public:
  virtual ~deflation() = default;
  /// Replaces the preconditioner of a request, of a method that needs no transpose. What it returns must live until the
  /// request is recorded, and this as long as the program.
  virtual std::unique_ptr<preconditioner<T>> put_into(solve_request<T>& request, const method_needs& method) = 0;
  virtual index_type bytes() const = 0;
};

/// Throws whilst::error on vectors as orthonormal_vectors does.
template <class T>
std::unique_ptr<deflation<T>> make_deflation(std::string_view doing, const linear_solver_options& options, place where,
                                             index_type n);

}  // namespace whilst
