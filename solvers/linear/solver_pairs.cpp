#include "solvers/linear/solver_pairs.hpp"

#include <algorithm>
#include <cmath>

#include "solvers/linear/sorted_rows.hpp"

namespace whilst {
namespace {

constexpr index_type fewest_rows_of_large = 10'000, most_rows_of_complete = 200'000,
                     most_nonzeros_of_factors = 20'000'000;

template <class T>
void measure_entries(const sorted_rows<T>& A, matrix_traits& into) {
  const auto n = static_cast<std::size_t>(into.rows);
  std::vector<double> column_sum(n, 0), diagonal(n, 0);
  double largest_row = 0, others = 0, of_its_sign = 0;
  bool is_weakly_dominant = true, is_dominant = true;
  for (std::size_t i = 0; i < n; ++i) {
    diagonal[i] = A.at(i, static_cast<std::int32_t>(i));
    double beside = 0;
    for (std::size_t k = A.begin_of(i); k < A.begin_of(i + 1); ++k) {
      const auto j = static_cast<std::size_t>(A.column(k));
      const double value = A.value(k);
      into.is_finite = into.is_finite && std::isfinite(value);
      if (j == i) continue;
      beside += std::fabs(value);
      column_sum[j] += std::fabs(value);
      if (value * diagonal[i] > 0) of_its_sign += std::fabs(value);
    }
    const double own = std::fabs(diagonal[i]);
    others += beside;
    largest_row = std::max(largest_row, own + beside);
    is_weakly_dominant = is_weakly_dominant && own > 0 && beside <= 1.01 * own;
    is_dominant = is_dominant && own > 0 && 2 * beside <= own;
  }
  double largest_column = 0;
  for (std::size_t j = 0; j < n; ++j) {
    is_dominant = is_dominant && 2 * column_sum[j] <= std::fabs(diagonal[j]);
    largest_column = std::max(largest_column, column_sum[j] + std::fabs(diagonal[j]));
  }
  into.size = std::sqrt(largest_row) * std::sqrt(largest_column);
  into.is_like_m_matrix = is_weakly_dominant && of_its_sign <= 0.1 * others;
  into.is_dominant = is_dominant;
}

/// The fill of an incomplete factorization, less where rows are long, so that no row of a factor has more than half of
/// so many entries.
std::string fill_of(const matrix_traits& A, index_type usual, index_type most_of_row) {
  const index_type that_fits = A.nonzeros > 0 ? most_of_row * A.rows / A.nonzeros : usual;
  return ",fill=" + std::to_string(std::clamp(that_fits, index_type{1}, usual));
}

class attempt_list {
 public:
  attempt_list(std::string_view named, const method_needs& needs) : named_(named), needs_(needs) {}

  void add(std::string_view method, std::string_view preconditioner, index_type most_iterations = 0,
           bool is_nearly_direct = false) {
    const bool is_ilu = preconditioner.starts_with("ilu");
    if (!named_.empty() && is_ilu && needs_.symmetric) return;
    solver_pair pair{std::string(named_.empty() ? method : named_), std::string(preconditioner)};
    for (const solver_attempt& one : made_)
      if (one.pair == pair && one.most_iterations == most_iterations) return;
    made_.push_back({std::move(pair), "", most_iterations, is_nearly_direct});
  }
  std::vector<solver_attempt> result(std::string why) && {
    made_.front().why = std::move(why);
    return std::move(made_);
  }

 private:
  std::string_view named_;
  method_needs needs_;
  std::vector<solver_attempt> made_;
};

std::string words_of_traits(const matrix_traits& A) {
  std::string words = A.is_symmetric ? "since the matrix is symmetric" : "since the matrix is not symmetric";
  if (A.is_symmetric)
    words += A.has_diagonal_of_one_sign ? ", its diagonal has one sign" : ", its diagonal has not one sign";
  if (A.knows_nodes) words += ", its nodes are known";
  if (A.is_dominant)
    words += ", its diagonal dominates";
  else if (A.is_like_m_matrix)
    words += ", it is like an M-matrix";
  return words + " and it has " + std::to_string(A.rows) + " rows";
}

}  // namespace

template <class T>
matrix_traits traits_of(const csr_matrix<T>& pattern, std::span<const T> values) {
  const sorted_rows<T> rows(pattern, values);
  matrix_traits found{.rows = pattern.rows(), .nonzeros = pattern.nonzeros()};
  found.is_symmetric = is_symmetric(rows, pattern.rows());
  found.has_diagonal_of_one_sign = has_diagonal_of_one_sign(rows, pattern.rows());
  measure_entries(rows, found);
  return found;
}
template matrix_traits traits_of(const csr_matrix<float>&, std::span<const float>);
template matrix_traits traits_of(const csr_matrix<double>&, std::span<const double>);

std::vector<solver_attempt> attempts_for(const matrix_traits& A, std::string_view named, const method_needs& needs) {
  attempt_list attempts(named, needs);
  const bool is_definite = A.is_symmetric && A.has_diagonal_of_one_sign, is_large = A.rows >= fewest_rows_of_large;
  const bool may_factor = A.is_finite && A.nonzeros <= most_nonzeros_of_factors;
  const char* const usual = is_definite ? "cg" : "bicgstab";
  if (A.is_dominant && is_large) attempts.add(usual, "jacobi", 300);
  if (((A.is_like_m_matrix || (is_definite && A.knows_nodes)) && is_large) || (is_definite && !may_factor))
    attempts.add(usual, "amg", 500);
  if (may_factor && is_definite) attempts.add("cg", "ic", 300);
  if (may_factor) attempts.add("gmres", "ilu,drop=1e-5" + fill_of(A, 20, 400) + ",pivoting=0.1", 200);
  // An iteration is cheap compared to factors that are nearly complete, the more so the larger they are.
  if (is_large) attempts.add(A.is_symmetric ? "minres" : "bicgstab", "jacobi", 1000);
  if (may_factor && A.rows <= most_rows_of_complete)
    attempts.add("gmres", "ilu,drop=1e-8,fill=0,pivoting=0.1,order=degree", 100, /*is_nearly_direct=*/true);
  if (may_factor) attempts.add("gmres", "ilu,drop=1e-6" + fill_of(A, 50, 1000) + ",pivoting=0.1", 500);
  if (is_definite) attempts.add("cg", "jacobi");
  if (A.is_symmetric) {
    attempts.add("minres", "jacobi");
  } else {
    attempts.add("bicgstab", "jacobi");
    attempts.add("gmres", "jacobi");
  }
  return std::move(attempts).result(words_of_traits(A));
}

bool goes_on_after(const report_fields& ended, const solver_attempt& of) {
  switch (ended.reason) {
    case reason::deadline:
    case reason::cancelled:
      return false;
    case reason::nan_or_infinity:  // in A, b or x0, or only in M
      return std::isfinite(ended.residual_norm);
    case reason::attainable_accuracy:
      return !(of.is_nearly_direct && ended.residual_norm <= 1e-3 * ended.rhs_norm);
    default:
      return !converged(ended.reason);
  }
}

}  // namespace whilst
