#pragma once

#include <span>
#include <vector>

#include "whilst/csr_matrix.hpp"

namespace whilst_bench {

/// A x, computed by no code of the library's: row by row, in long double.
template <class T>
class true_product {
 public:
  /// A: in host memory; x: an entry for each column.
  true_product(const whilst::csr_matrix<T>& A, std::span<const T> x);

  /// The largest error of an entry of y, relative to what rounding may cause: for a row of m nonzeros, whatever the
  /// order of its sum, m epsilon times the sum of |a_ij x_j|. Above 1, or NaN, y is wrong.
  double error_of(std::span<const T> y) const;

 private:
  std::vector<double> product_, allowed_;
};

}  // namespace whilst_bench
