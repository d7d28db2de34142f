#pragma once

#include <cmath>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst_test {

/// ||b - A x|| / ||b|| in extended precision, whose exponents hold the squares of all doubles.
template <class T>
double true_residual(const whilst::csr_matrix<T>& A, const std::vector<T>& b, const std::vector<T>& x) {
  long double rr = 0, bb = 0;
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    long double r = b[static_cast<std::size_t>(i)];
    bb += r * r;
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      r -= static_cast<long double>(A.values()[entry]) * x[static_cast<std::size_t>(A.column_indices()[entry])];
    }
    rr += r * r;
  }
  return static_cast<double>(std::sqrt(rr / bb));
}

}  // namespace whilst_test
