#pragma once

#include <memory>

#include "solvers/linear/null_space/null_space.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// What a solve of P A x = P b is recorded with: see null_space.hpp. Put into a request, it wraps the operator and the
/// preconditioner, whose results are projected by steps of the same program, and stands around the solve, which gets P
/// b and P x0 in memory of its own; what it hands back is projected once more. So neither methods nor linear_solve know
/// of it.
///
/// P A, and not A alone, for matrices that are not symmetric, and for vectors that A maps to zero within rounding only:
/// the method then works in the complement alone, and its residual cannot drift out of it. b is projected twice, since
/// its part in the null space may be much the larger one.
///
/// of and the request's own parts must live until the program is recorded.
template <class T>
class in_complement {
 public:
  virtual ~in_complement() = default;
  /// Makes a request, of a method that needs no transpose, one for a solve in the complement.
  virtual void put_into(solve_request<T>& request) = 0;
};

/// absolute: the kind of Jacobi that the method needs.
template <class T>
std::unique_ptr<in_complement<T>> make_in_complement(const null_space<T>& of, bool absolute);

}  // namespace whilst
