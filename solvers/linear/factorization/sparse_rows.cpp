#include "solvers/linear/factorization/sparse_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace whilst::factorization {
namespace {

using column_and_value = std::pair<std::int32_t, double>;

/// Appends a row of entries in any order, which it sorts and adds up.
void append_row(std::vector<column_and_value>& entries, bool keeps_zeros, sparse_rows& into) {
  // Stable: entries at one position are added in the order of the matrix.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const column_and_value& a, const column_and_value& b) { return a.first < b.first; });
  for (std::size_t k = 0; k < entries.size();) {
    const std::int32_t column = entries[k].first;
    double sum = 0;
    for (; k < entries.size() && entries[k].first == column; ++k) sum += entries[k].second;
    if (std::isfinite(sum) && (keeps_zeros || sum != 0)) into.append(column, sum);
  }
  into.end_row();
}

}  // namespace

template <class T>
sparse_rows sparse_rows_of(const csr_matrix<T>& pattern, const T* values) {
  sparse_rows result;
  std::vector<column_and_value> row;
  const auto columns = pattern.column_indices();
  for (index_type i = 0; i < pattern.rows(); ++i) {
    row.clear();
    for (index_type k = pattern.row_offset(i); k < pattern.row_offset(i + 1); ++k)
      row.emplace_back(columns[static_cast<std::size_t>(k)], static_cast<double>(values[k]));
    append_row(row, /*keeps_zeros=*/false, result);
  }
  return result;
}
template sparse_rows sparse_rows_of(const csr_matrix<float>&, const float*);
template sparse_rows sparse_rows_of(const csr_matrix<double>&, const double*);

sparse_rows transposed(const sparse_rows& A) {
  const auto n = static_cast<std::size_t>(A.rows());
  sparse_rows result;
  result.offsets.assign(n + 1, 0);
  for (const std::int32_t j : A.columns) ++result.offsets[static_cast<std::size_t>(j) + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.columns.resize(A.columns.size());
  result.values.resize(A.values.size());
  std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (index_type i = 0; i < A.rows(); ++i) {
    for (std::size_t e = A.begin(i); e < A.end(i); ++e) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(A.columns[e])]++);
      result.columns[at] = static_cast<std::int32_t>(i);
      result.values[at] = A.values[e];
    }
  }
  return result;
}

sparse_rows symmetric_part(const sparse_rows& A) {
  const sparse_rows other = transposed(A);
  sparse_rows result;
  std::vector<column_and_value> row;
  for (index_type i = 0; i < A.rows(); ++i) {
    row.clear();
    for (const sparse_rows* half : {&A, &other})
      for (std::size_t e = half->begin(i); e < half->end(i); ++e)
        row.emplace_back(half->columns[e], half->values[e] / 2);
    append_row(row, /*keeps_zeros=*/true, result);
  }
  return result;
}

log_scales equilibrating(const sparse_rows& A) {
  const auto n = static_cast<std::size_t>(A.rows());
  log_scales result{std::vector<double>(n), std::vector<double>(n)};
  constexpr double none = -1e300;
  std::vector<double> largest(n, none);
  for (index_type i = 0; i < A.rows(); ++i) {
    double of_row = none;
    for (std::size_t e = A.begin(i); e < A.end(i); ++e) of_row = std::max(of_row, std::log(std::fabs(A.values[e])));
    if (of_row == none) continue;
    result.row[static_cast<std::size_t>(i)] = -of_row;
    for (std::size_t e = A.begin(i); e < A.end(i); ++e) {
      double& of_column = largest[static_cast<std::size_t>(A.columns[e])];
      of_column = std::max(of_column, std::log(std::fabs(A.values[e])) - of_row);
    }
  }
  for (std::size_t j = 0; j < n; ++j)
    if (largest[j] != none) result.column[j] = -largest[j];
  return result;
}

sparse_rows permuted(const sparse_rows& A, const log_scales& scales, const indices& rows, const indices& columns) {
  const indices place = inverse_of(columns);
  sparse_rows result;
  std::vector<column_and_value> row;
  for (const std::int32_t i : rows) {
    row.clear();
    for (std::size_t e = A.begin(i); e < A.end(i); ++e) {
      const auto j = static_cast<std::size_t>(A.columns[e]);
      row.emplace_back(place[j], A.values[e] * std::exp(scales.row[static_cast<std::size_t>(i)] + scales.column[j]));
    }
    append_row(row, /*keeps_zeros=*/false, result);
  }
  return result;
}

indices in_turn(index_type n) {
  indices result(static_cast<std::size_t>(n));
  std::iota(result.begin(), result.end(), 0);
  return result;
}
indices inverse_of(const indices& permutation) {
  indices result(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k)
    result[static_cast<std::size_t>(permutation[k])] = static_cast<std::int32_t>(k);
  return result;
}
indices composed(const indices& first, const indices& then) {
  indices result(then.size());
  for (std::size_t k = 0; k < then.size(); ++k) result[k] = first[static_cast<std::size_t>(then[k])];
  return result;
}

}  // namespace whilst::factorization
