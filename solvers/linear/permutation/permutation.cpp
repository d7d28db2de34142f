#include "solvers/linear/permutation/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "solvers/linear/factorization/matching.hpp"
#include "solvers/linear/factorization/ordering.hpp"

namespace whilst {

std::vector<std::string> permutation_names() {
  return {"none", "rcm", "degree", "matching", "matching_rcm", "matching_degree"};
}

void check_permutation(std::string_view doing, const linear_solver_options& options) {
  const std::vector<std::string> names = permutation_names();
  std::string all;
  for (const std::string& name : names) all.append(all.empty() ? "" : ", ").append(name);
  if (std::find(names.begin(), names.end(), options.permutation) == names.end())
    throw error(doing, "there is no permutation called '" + options.permutation + "'", "Use one of " + all);
  if (has_matching(options) && options.scaling == "symmetric")
    throw error(doing, "scaling symmetric is by the diagonal, which permutation " + options.permutation + " replaces",
                "Leave scaling out for the scales of the matching, or use rows or equilibrate");
}

namespace {

/// Throws where rows are left without an entry to put on the diagonal.
void require_perfect_matching(std::string_view doing, const factorization::sparse_rows& A,
                              const factorization::matching& found) {
  if (found.matched == A.rows()) return;
  index_type i = 0;
  const auto has_entry = [&](index_type row) {
    const auto columns = A.columns.begin();
    return std::binary_search(columns + static_cast<std::ptrdiff_t>(A.begin(row)),
                              columns + static_cast<std::ptrdiff_t>(A.end(row)),
                              found.column_of_row[static_cast<std::size_t>(row)]);
  };
  while (has_entry(i)) ++i;
  throw error(doing,
              "a matching finds no nonzero for the diagonal of row " + std::to_string(i) + ": it matches " +
                  std::to_string(found.matched) + " of " + std::to_string(A.rows()) +
                  " rows, so the matrix is structurally singular",
              "Leave permutation out, or use lsqr or lsmr without it, which take singular matrices");
}

}  // namespace

template <class T>
permutation find_permutation(std::string_view doing, std::string_view name, const csr_matrix<T>& A) {
  // An entry that is zero now may have a value later.
  const std::vector<T> ones(static_cast<std::size_t>(A.nonzeros()), T(1));
  permutation result;
  factorization::sparse_rows pattern = factorization::sparse_rows_of(A, ones.data());
  result.rows = result.columns = factorization::in_turn(A.rows());
  if (name.starts_with("matching")) {
    // A solve tells of NaN, and values that come later are to find an order that suits them.
    std::vector<T> finite(A.values().begin(), A.values().end());
    std::replace_if(
        finite.begin(), finite.end(), [](T value) { return !std::isfinite(value); }, T(1));
    const factorization::sparse_rows values = factorization::sparse_rows_of(A, finite.data());
    factorization::matching found = factorization::maximum_product_matching(values);
    require_perfect_matching(doing, values, found);
    result.columns = std::move(found.column_of_row);
    result.scales = std::move(found.scales);
    const std::vector<double> zeros(result.columns.size(), 0.0);
    pattern = factorization::permuted(pattern, {zeros, zeros}, result.rows, result.columns);
  }
  const bool is_degree = name.ends_with("degree");
  if (is_degree || name.ends_with("rcm")) {
    pattern = factorization::symmetric_part(pattern);
    result.rows = is_degree ? factorization::minimum_degree(pattern) : factorization::reverse_cuthill_mckee(pattern);
    result.columns = factorization::composed(result.columns, result.rows);
  }
  return result;
}
template permutation find_permutation(std::string_view, std::string_view, const csr_matrix<float>&);
template permutation find_permutation(std::string_view, std::string_view, const csr_matrix<double>&);

}  // namespace whilst
