#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "solvers/linear/host_array.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// r = b - A x, summed in long double; returns its norm. A's pattern and values are in host memory.
template <class T>
double extended_residual(const csr_matrix<T>& pattern, const T* values, std::span<const T> b, std::span<const T> x,
                         std::vector<T>& r) {
  const auto rows = static_cast<std::size_t>(pattern.rows());
  const auto columns = pattern.column_indices();
  r.resize(rows);
  std::vector<long double> exact(rows);
  detail::visit_ranges(rows, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      long double sum = b[i];
      const auto row = static_cast<index_type>(i);
      for (index_type k = pattern.row_offset(row); k < pattern.row_offset(row + 1); ++k) {
        const auto e = static_cast<std::size_t>(k);
        sum -= static_cast<long double>(values[e]) * x[static_cast<std::size_t>(columns[e])];
      }
      exact[i] = sum;
      r[i] = static_cast<T>(sum);
    }
  });
  long double largest = 0, squares = 0;  // where long double is double, squares of large entries overflow
  for (const long double one : exact) largest = std::fmax(largest, std::fabs(one));
  if (largest == 0) return 0;
  for (const long double one : exact) squares += (one / largest) * (one / largest);
  return static_cast<double>(largest * std::sqrt(squares));
}

}  // namespace whilst
