#include "benchmarks/whilst-bench/true_product.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whilst_bench {

template <class T>
true_product<T>::true_product(const whilst::csr_matrix<T>& A, std::span<const T> x) {
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    long double sum = 0, absolute = 0;
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto at = static_cast<std::size_t>(k);
      const long double term =
          static_cast<long double>(A.values()[at]) * x[static_cast<std::size_t>(A.column_indices()[at])];
      sum += term;
      absolute += std::abs(term);
    }
    product_.push_back(static_cast<double>(sum));
    allowed_.push_back(static_cast<double>(A.row_offset(i + 1) - A.row_offset(i)) * std::numeric_limits<T>::epsilon() *
                       static_cast<double>(absolute));
  }
}

template <class T>
double true_product<T>::error_of(std::span<const T> y) const {
  if (y.size() != product_.size()) return NAN;
  double largest = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = std::abs(static_cast<double>(y[i]) - product_[i]);
    if (std::isnan(error)) return NAN;
    if (error > 0) largest = std::max(largest, error / allowed_[i]);  // infinite where a row has no nonzeros
  }
  return largest;
}

template class true_product<float>;
template class true_product<double>;

}  // namespace whilst_bench
