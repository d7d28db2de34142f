#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// The null space of a singular matrix, given by the options null_space and null_space_vectors. With P the projection
/// onto what is orthogonal to it, a solver for A x = b solves
///
///   P A x = P b   with x = P x
///
/// instead, by any method, with the preconditioner P M: solvers/linear/null_space/in_complement.hpp. For symmetric A, P
/// A is A, and P b the part of b that some A x can be, so x is the least-squares solution of least norm.

/// Whether the options name a null space.
bool has_null_space(const linear_solver_options& options);
/// Throws whilst::error on a null space that is none of those known, and on vectors that contradict it.
void check_null_space(std::string_view doing, const linear_solver_options& options);

/// Orthonormal vectors that span the null space, n entries each, one after another: in double, on the host. Throws
/// whilst::error on vectors of another length, entries that are not finite, a zero vector, and vectors that depend on
/// those before them.
std::vector<double> orthonormal_null_space(std::string_view doing, const linear_solver_options& options, index_type n);

/// Throws whilst::error if A times one of these vectors is more than rounding: beyond half the digits of what it would
/// be if nothing cancelled. A: in host memory, with these values. Does nothing for options without a null space, or
/// where the number of values is wrong.
template <class T>
void require_null_space(std::string_view doing, const linear_solver_options& options, const csr_matrix<T>& A,
                        std::span<const T> values);

/// The orthonormal vectors where a solver needs them; none for the constant one, which takes no memory.
template <class T>
class null_space {
 public:
  null_space(std::string_view doing, const linear_solver_options& options, place where, index_type n);

  index_type rows() const { return rows_; }
  int count() const { return count_; }
  /// Null for the constant one.
  const T* vectors() const { return vectors_.data(); }
  bool is_constant() const { return is_constant_; }
  index_type bytes() const { return vectors_.bytes(); }

 private:
  index_type rows_;
  bool is_constant_;
  int count_ = 1;
  buffer<T> vectors_;
};

}  // namespace whilst
