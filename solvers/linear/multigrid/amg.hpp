#pragma once

#include <memory>
#include <string>

#include "whilst/linear/amg_options.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// A preconditioner that the library makes from a matrix.
template <class T>
class matrix_preconditioner : public preconditioner<T> {
 public:
  /// Bytes that it keeps, besides what programs hold for it.
  virtual index_type bytes() const = 0;
  /// What was made, in words.
  virtual std::string description() const = 0;
};

/// Algebraic multigrid by smoothed aggregation, for the matrix of a request, whose values lie at matrix.values now.
/// Makes the hierarchy on the matrix's place, and waits.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_amg(const solve_request<T>& matrix, const amg_options& options);

}  // namespace whilst
