#pragma once

#include <span>
#include <string_view>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/host/report.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// Method "auto" of a linear solver: which method begins, and which one goes on where that fails.
///
///   A is                                          begins     goes on
///   symmetric, its diagonal all of one sign       cg         minres: A was indefinite
///   symmetric otherwise                           minres
///   square otherwise, or known by its products    bicgstab   gmres: bicgstab broke down, stagnated or diverged
///   not square                                    lsqr
///
/// bicgstab's residual may drift so far that no restart gets on, which then reads as attainable accuracy: with less
/// than half the digits that is stagnation. Where cg or minres finds a preconditioner that is not positive definite,
/// bicgstab goes on. A positive diagonal does not make A definite, but a definite A has one, and cg notices negative
/// curvature.

inline constexpr std::string_view automatic_method = "auto";

/// What the methods that it begins with, cg, minres and bicgstab, can do.
inline constexpr kernel_abilities in_kernel_of_automatic{.runs = true, .spans_blocks = true};

struct method_choice {
  const char* method;
  const char* why;  ///< "since the matrix is not symmetric"
};

/// For a matrix that is not square.
inline constexpr method_choice method_of_rectangular{"lsqr", "since the matrix is not square"};

/// For a matrix in host memory, perhaps with other values.
template <class T>
method_choice choose_method(const csr_matrix<T>& pattern, std::span<const T> values);
template <class T>
method_choice choose_method(const csr_matrix<T>& A) {
  return choose_method(A, A.values());
}

/// The entries of a matrix in device memory, perhaps with other values there: a copy over the bus. What writes them
/// must have ended: this waits for no stream. Throws whilst::error where they are no matrix.
template <class T>
csr_matrix<T> copied_to_host(const csr_matrix<T>& A, const T* values, place where);

/// For an operator that has no entries to look at.
method_choice choose_method_unseen();

/// Which method goes on after a solve that ended so; null if none does.
const char* successor_of(const report_fields& ended);

/// Whether A equals its transpose. Entries that are missing count as 0, several at one position as their sum. Values
/// may differ by 8 roundings of the larger one, or of the geometric mean of their diagonals: element matrices that are
/// added in another order leave such differences, and a method's own products round no less. A NaN equals nothing.
///
/// Looks each entry up across the diagonal, by bisection in its row, on the host's threads: O(nonzeros log(entries a
/// row)) and no memory, if the columns of each row are sorted. If not, a sorted copy is made first.
template <class T>
bool is_symmetric(const csr_matrix<T>& A);

}  // namespace whilst
