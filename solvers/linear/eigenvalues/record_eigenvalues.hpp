#pragma once

#include "solvers/linear/eigenvalues/eigenvalue_outcome.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// What to record: the matrix in CSR, which of its pairs, and by how many columns; its preconditioner.
template <class T>
struct eigenvalue_request {
  solve_request<T> matrix;
  int wanted = 1;
  index_type block_columns = 2;  ///< even
  bool largest = false;
};

/// A recorded solve for eigenpairs and the parameters that a launch may change.
template <class T>
struct recorded_eigenvalues {
  std::unique_ptr<program> recorded;
  parameter<T*> x;
  parameter<const T*> values;
  parameter<eigenvalue_outcome*> outcome;
  parameter<control_settings> outer_settings, inner_settings;
  control *outer = nullptr, *inner = nullptr;  ///< on the place
};

template <class T>
recorded_eigenvalues<T> record_eigenvalues(const eigenvalue_request<T>& request);

}  // namespace whilst
