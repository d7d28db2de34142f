#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "solvers/linear/host_array.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

struct checked_residual {
  double norm = 0;      ///< ||b - A x||; NaN where an entry is no number
  double rounding = 0;  ///< what rounding x to T may add to it: eps || |A| |x| ||
};

/// r = b - A x, summed in long double. A's pattern and values are in host memory.
template <class T>
checked_residual extended_residual(const csr_matrix<T>& pattern, const T* values, std::span<const T> b,
                                   std::span<const T> x, std::vector<T>& r) {
  const auto rows = static_cast<std::size_t>(pattern.rows());
  const auto columns = pattern.column_indices();
  r.resize(rows);
  std::vector<long double> exact(rows), sizes(rows);
  detail::visit_ranges(rows, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      long double of_product = 0, of_sizes = 0;
      const auto row = static_cast<index_type>(i);
      for (index_type k = pattern.row_offset(row); k < pattern.row_offset(row + 1); ++k) {
        const auto e = static_cast<std::size_t>(k);
        const long double term = static_cast<long double>(values[e]) * x[static_cast<std::size_t>(columns[e])];
        of_product += term;
        of_sizes += std::fabs(term);
      }
      exact[i] = b[i] - of_product;
      sizes[i] = of_sizes;
      r[i] = static_cast<T>(exact[i]);
    }
  });
  // Where long double is double, squares of large entries overflow.
  const auto norm = [](const std::vector<long double>& v) -> double {
    long double largest = 0, squares = 0;
    for (const long double one : v) {
      if (!std::isfinite(one)) return std::numeric_limits<double>::quiet_NaN();
      largest = std::max(largest, std::fabs(one));
    }
    if (largest == 0) return 0;
    for (const long double one : v) squares += (one / largest) * (one / largest);
    return static_cast<double>(largest * std::sqrt(squares));
  };
  return {norm(exact), static_cast<double>(std::numeric_limits<T>::epsilon()) * norm(sizes)};
}

}  // namespace whilst
