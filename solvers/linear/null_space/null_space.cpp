#include "solvers/linear/null_space/null_space.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "solvers/linear/orthonormal_vectors.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

constexpr std::string_view constant = "constant", given = "vectors";

double largest_entry(std::span<const double> v) {
  double most = 0;
  for (const double entry : v) most = std::max(most, std::abs(entry));
  return most;
}

std::string name_of_vector(const linear_solver_options& options, std::size_t k) {
  return options.null_space == constant ? std::string("the constant vector")
                                        : "null space vector " + std::to_string(k) + " (from 0)";
}

}  // namespace

bool has_null_space(const linear_solver_options& options) { return options.null_space != "none"; }

void check_null_space(std::string_view doing, const linear_solver_options& options) {
  if (options.null_space != "none" && options.null_space != constant && options.null_space != given)
    throw error(doing, "there is no null_space called '" + options.null_space + "'",
                "Use one of none, constant, vectors");
  if (options.null_space != given && !options.null_space_vectors.empty())
    throw error(doing, "there are null_space_vectors, and null_space is " + options.null_space,
                "Set null_space to vectors, or leave them out");
}

std::vector<double> orthonormal_null_space(std::string_view doing, const linear_solver_options& options, index_type n) {
  const auto rows = static_cast<std::size_t>(n);
  if (options.null_space == constant) return std::vector<double>(rows, 1 / std::sqrt(static_cast<double>(n)));
  return orthonormal_vectors(doing, {"null_space_vectors", "null space vector"}, options.null_space_vectors, n);
}

template <class T>
void require_null_space(std::string_view doing, const linear_solver_options& options, const csr_matrix<T>& A,
                        std::span<const T> values) {
  const auto rows = static_cast<std::size_t>(A.rows());
  if (!has_null_space(options) || rows == 0 || std::cmp_not_equal(values.size(), A.nonzeros())) return;
  // What rounding of A's entries and of the vectors may leave of a row, with digits to spare for files that have fewer.
  // In float there are none to spare: a regular A with a condition of some thousands must not pass.
  constexpr double most = sizeof(T) == 4 ? 64.0 * std::numeric_limits<float>::epsilon() : 1e-8;
  const std::vector<double> all = orthonormal_null_space(doing, options, A.rows());
  const auto columns = A.column_indices();
  for (std::size_t k = 0; k < all.size() / rows; ++k) {
    const double* const v = all.data() + k * rows;
    // A vector may be zero but for rounding in some rows.
    const double most_of_v = largest_entry({v, rows});
    for (std::size_t i = 0; i < rows; ++i) {
      double made = 0, size = 0;
      const auto end = static_cast<std::size_t>(A.row_offset(static_cast<index_type>(i) + 1));
      for (auto e = static_cast<std::size_t>(A.row_offset(static_cast<index_type>(i))); e < end; ++e) {
        made += static_cast<double>(values[e]) * v[columns[e]];
        size += std::abs(static_cast<double>(values[e])) * most_of_v;
      }
      if (std::abs(made) > most * size) {  // not so where a value is NaN: the solves will say so
        char ratio[32];
        std::snprintf(ratio, sizeof ratio, "%.2g", std::abs(made) / size);
        throw error(doing,
                    name_of_vector(options, k) + " is not in the null space: row " + std::to_string(i) +
                        " of A times it is " + ratio + " of the most that it could be",
                    "Give vectors that A maps to zero, or set null_space to none");
      }
    }
  }
}

template <class T>
null_space<T>::null_space(std::string_view doing, const linear_solver_options& options, place where, index_type n)
    : rows_(n), is_constant_(options.null_space == constant) {
  if (is_constant_) return;
  const std::vector<double> all = orthonormal_null_space(doing, options, n);
  const std::vector<T> rounded(all.begin(), all.end());
  count_ = static_cast<int>(static_cast<index_type>(all.size()) / n);
  vectors_ = buffer<T>(where, static_cast<index_type>(rounded.size()), rounded.data());
}

template class null_space<float>;
template class null_space<double>;
template void require_null_space(std::string_view, const linear_solver_options&, const csr_matrix<float>&,
                                 std::span<const float>);
template void require_null_space(std::string_view, const linear_solver_options&, const csr_matrix<double>&,
                                 std::span<const double>);

}  // namespace whilst
