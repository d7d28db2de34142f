#include "solvers/linear/automatic/solver_pairs.hpp"

#include <algorithm>
#include <cmath>

#include "solvers/linear/sorted_rows.hpp"

namespace whilst {
namespace {

constexpr index_type fewest_rows_of_large = 10'000, most_rows_of_complete = 200'000,
                     most_nonzeros_of_factors = 20'000'000;
constexpr const char *complete_ic = "ic,drop=1e-11,fill=0,order=degree",
                     *complete_ilu = "ilu,drop=1e-14,fill=0,pivoting=0.1,order=blocks",
                     *unmatched_ilu = "ilu,drop=1e-12,fill=0,matching=false,pivoting=0.01,order=degree",
                     *last_ic = "ic,drop=1e-10,fill=0,order=degree",
                     *last_ilu = "ilu,drop=1e-10,fill=0,matching=false,pivoting=0.01,order=degree";

template <class T>
void measure_entries(const sorted_rows<T>& A, matrix_traits& into) {
  const auto n = static_cast<std::size_t>(into.rows);
  std::vector<double> column_sum(n, 0), diagonal(n, 0);
  double largest_row = 0, others = 0, of_its_sign = 0;
  bool is_weakly_dominant = true, is_dominant = true;
  into.has_whole_diagonal = true;
  for (std::size_t i = 0; i < n; ++i) {
    diagonal[i] = A.at(i, static_cast<std::int32_t>(i));
    double beside = 0, largest = 0;
    for (std::size_t k = A.begin_of(i); k < A.begin_of(i + 1); ++k) {
      const auto j = static_cast<std::size_t>(A.column(k));
      const double value = A.value(k);
      into.is_finite = into.is_finite && std::isfinite(value);
      if (j == i) continue;
      beside += std::fabs(value);
      largest = std::max(largest, std::fabs(value));
      column_sum[j] += std::fabs(value);
      if (value * diagonal[i] > 0) of_its_sign += std::fabs(value);
    }
    const double own = std::fabs(diagonal[i]);
    others += beside;
    into.has_whole_diagonal = into.has_whole_diagonal && own > 0 && own >= 1e-6 * largest;
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
    if (!made_.empty() && made_.back().pair == pair) {  // it may as well go on
      if (most_iterations == 0) made_.back().most_iterations = 0;
      return;
    }
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
    words += A.has_diagonal_of_one_sign ? ", its diagonal has one sign" : ", its diagonal has both signs or zeros";
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
  const bool may_complete = may_factor && A.rows <= most_rows_of_complete;
  const char* const usual = is_definite ? "cg" : "bicgstab";
  const char* const with_amg = !A.wants_flexible ? usual : is_definite ? "flexible-cg" : "fgmres";
  if (A.is_dominant && is_large) attempts.add(usual, "jacobi", 300);
  if (((A.is_like_m_matrix || (is_definite && A.knows_nodes)) && is_large) || (is_definite && !may_factor))
    attempts.add(with_amg, "amg", 500);
  const std::string incomplete_ilu = "ilu,drop=1e-5" + fill_of(A, 20, 400) + ",pivoting=0.1";
  // Little is left out of the factors of a matrix like these.
  if (may_factor && (A.is_like_m_matrix || A.is_dominant)) {
    if (is_definite)
      attempts.add("cg", "ic", 150);
    else
      attempts.add("gmres", incomplete_ilu, 100);
  }
  // Of others, factors that are nearly complete are often no larger than incomplete ones in an order that suits those.
  // Where they would be, making them is given up.
  if (may_complete && is_definite) attempts.add("cg", complete_ic, 60, /*is_nearly_direct=*/true);
  if (may_factor && is_definite) attempts.add("cg", "ic", 150);
  if (may_complete) {
    // A matching scatters the entries of a grid; where the diagonal has entries, it is seldom needed.
    attempts.add("gmres", A.has_whole_diagonal ? unmatched_ilu : complete_ilu, 60, /*is_nearly_direct=*/true);
    attempts.add("gmres", A.has_whole_diagonal ? complete_ilu : unmatched_ilu, 60, /*is_nearly_direct=*/true);
  }
  if (may_factor) attempts.add("gmres", incomplete_ilu, 100);
  if (may_factor) attempts.add("gmres", "ilu,drop=1e-6" + fill_of(A, 50, 1000) + ",pivoting=0.1", 500);
  // What takes little comes before factors that may take a minute: see bounds_of in ilu_description.cpp.
  const char* const by_products = is_definite ? "cg" : A.is_symmetric ? "minres" : "bicgstab";
  if (may_factor) {
    attempts.add(by_products, "jacobi", 1000);
    if (is_definite) attempts.add("cg", last_ic, 60, /*is_nearly_direct=*/true);
    attempts.add("gmres", last_ilu, 60, /*is_nearly_direct=*/true);
  }
  attempts.add(by_products, "jacobi");
  if (is_definite) attempts.add("minres", "jacobi");
  if (!A.is_symmetric) attempts.add("gmres", "jacobi");
  return std::move(attempts).result(words_of_traits(A));
}

bool goes_on_after(const report_fields& ended, const solver_attempt& of, double rounding) {
  if (!std::isfinite(ended.rhs_norm)) return false;
  switch (ended.reason) {
    case reason::deadline:
    case reason::cancelled:
      return false;
    case reason::nan_or_infinity:  // in A, b or x0, or only in M
      return std::isfinite(ended.residual_norm);
    case reason::attainable_accuracy:
      // No x of this type does better, unless a far smaller one does.
      if (ended.residual_norm <= 4 * rounding && ended.residual_norm <= 0.1 * ended.rhs_norm) return false;
      return rounding > 0 || !of.is_nearly_direct || ended.residual_norm > 1e-3 * ended.rhs_norm;
    default:
      return !converged(ended.reason);
  }
}

void attempts_in_turn::replace(std::vector<solver_attempt> attempts) {
  const bool is_same = std::equal(attempts.begin(), attempts.end(), all_.begin(), all_.end(),
                                  [](const solver_attempt& a, const solver_attempt& b) { return a.pair == b.pair; });
  if (!is_same) first_ = 0;
  all_ = std::move(attempts);
  forget();
}
void attempts_in_turn::forget() {
  has_failed_.assign(all_.size(), false);
  is_refused_.assign(all_.size(), false);
}

std::vector<std::size_t> attempts_in_turn::order() const {
  enum { usual, failed, unlimited, refused };
  const auto kind = [this](std::size_t k) {
    if (is_refused_[k]) return refused;
    if (k == first_) return usual;
    if (all_[k].most_iterations == 0) return unlimited;
    return has_failed_[k] ? failed : usual;
  };
  std::vector<std::size_t> result;
  for (const auto wanted : {usual, failed, unlimited})
    for (std::size_t d = 0; d < all_.size(); ++d)
      if (const std::size_t k = (first_ + d) % all_.size(); kind(k) == wanted) result.push_back(k);
  return result;
}

}  // namespace whilst
