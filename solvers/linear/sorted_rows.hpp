#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "solvers/linear/host_array.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// A host matrix whose rows are sorted: what it borrows, or a sorted copy.
template <class T>
class sorted_rows {
 public:
  sorted_rows(const csr_matrix<T>& A, std::span<const T> values)
      : A_(A), columns_(A.column_indices()), values_(values) {
    const auto rows = static_cast<std::size_t>(A.rows());
    const std::size_t unsorted = detail::first_index(rows, [&](std::size_t i) {
      const auto row = columns_.subspan(begin_of(i), begin_of(i + 1) - begin_of(i));
      return !std::is_sorted(row.begin(), row.end());
    });
    if (unsorted < rows) sort();
  }
  std::size_t begin_of(std::size_t row) const {
    return static_cast<std::size_t>(A_.has_64bit_offsets()
                                        ? static_cast<const std::int64_t*>(A_.row_offsets_data())[row]
                                        : static_cast<const std::int32_t*>(A_.row_offsets_data())[row]);
  }
  std::int32_t column(std::size_t k) const { return columns_[k]; }
  double value(std::size_t k) const { return static_cast<double>(values_[k]); }

  /// The sum of what lies at one position.
  double at(std::size_t row, std::int32_t column) const {
    const auto begin = columns_.begin() + static_cast<std::ptrdiff_t>(begin_of(row));
    const auto end = columns_.begin() + static_cast<std::ptrdiff_t>(begin_of(row + 1));
    double sum = 0;
    for (auto found = std::lower_bound(begin, end, column); found != end && *found == column; ++found)
      sum += static_cast<double>(values_[static_cast<std::size_t>(found - columns_.begin())]);
    return sum;
  }

 private:
  void sort() {
    const auto count = columns_.size(), rows = static_cast<std::size_t>(A_.rows());
    own_columns_.resize(count);
    own_values_.resize(count);
    detail::visit_ranges(rows, [&](std::size_t first, std::size_t last) {
      std::vector<std::size_t> order;
      for (std::size_t i = first; i < last; ++i) {
        order.resize(begin_of(i + 1) - begin_of(i));
        std::iota(order.begin(), order.end(), begin_of(i));
        std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
          return columns_[one] != columns_[other] ? columns_[one] < columns_[other] : one < other;
        });
        for (std::size_t k = 0; k < order.size(); ++k) {
          own_columns_[begin_of(i) + k] = columns_[order[k]];
          own_values_[begin_of(i) + k] = values_[order[k]];
        }
      }
    });
    columns_ = own_columns_;
    values_ = own_values_;
  }

  const csr_matrix<T>& A_;
  std::span<const std::int32_t> columns_;
  std::span<const T> values_;
  std::vector<std::int32_t> own_columns_;
  std::vector<T> own_values_;
};

/// See choose_method.hpp.
template <class T>
bool is_symmetric(const sorted_rows<T>& A, index_type rows) {
  const auto n = static_cast<std::size_t>(rows);
  const auto as_much = [&](std::size_t i, std::int32_t j, double one, double other) {
    if (one == other) return true;
    const double diagonals = std::sqrt(std::abs(A.at(i, static_cast<std::int32_t>(i)))) *
                             std::sqrt(std::abs(A.at(static_cast<std::size_t>(j), j)));
    const double size = std::max({std::abs(one), std::abs(other), diagonals});
    return std::isfinite(size) &&
           std::abs(one - other) <= 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size;
  };
  return detail::first_index(n, [&](std::size_t i) {
           const std::size_t end = A.begin_of(i + 1);
           for (std::size_t k = A.begin_of(i); k < end; ++k) {
             const std::int32_t j = A.column(k);
             if (!as_much(i, j, A.at(i, j), A.at(static_cast<std::size_t>(j), static_cast<std::int32_t>(i))))
               return true;
           }
           return false;
         }) == n;
}

/// Whether all entries of the diagonal are positive, or all negative.
template <class T>
bool has_diagonal_of_one_sign(const sorted_rows<T>& A, index_type rows) {
  const auto n = static_cast<std::size_t>(rows);
  const auto all = [&](double sign) {
    return detail::first_index(n, [&](std::size_t i) { return !(sign * A.at(i, static_cast<std::int32_t>(i)) > 0); }) ==
           n;
  };
  return all(1) || all(-1);
}

}  // namespace whilst
