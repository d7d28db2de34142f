#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "solvers/linear/factorization/working_row.hpp"
#include "whilst/basics/error.hpp"

namespace whilst::factorization {
namespace {

using entry = working_row::entry;

/// Rows of U = D L', one after another. Row j needs the rows k above that have an entry in column j: they wait in a
/// list of that column, and then move on to the list of their next entry's.
class symmetric_elimination {
 public:
  symmetric_elimination(const sparse_rows& A, const elimination_rules& rules, double shift, work_meter& work)
      : A_(A), rules_(rules), work_(work), row_(A.rows()), first_(size(A), none), next_(size(A), none), at_(size(A)) {
    made_.shift = shift;
  }

  /// False if a pivot is not positive.
  bool succeeds() {
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(A_.rows()); ++j) {
      if (!make_row(j)) return false;
      const std::int64_t nonzeros = 2 * made_.U.nonzeros();
      if (!work_.is_within(nonzeros)) refuse_factors(work_, j + 1, A_.rows(), nonzeros);
    }
    return true;
  }
  incomplete_factors result() && {
    sparse_rows unit = made_.U;
    for (index_type k = 0; k < unit.rows(); ++k)
      for (std::size_t e = unit.begin(k); e < unit.end(k); ++e)
        unit.values[e] /= made_.pivots[static_cast<std::size_t>(k)];
    made_.L = transposed(unit);
    made_.column_at = in_turn(A_.rows());
    return std::move(made_);
  }

 private:
  static constexpr std::int32_t none = -1;
  static std::size_t size(const sparse_rows& A) { return static_cast<std::size_t>(A.rows()); }

  bool make_row(std::int32_t j) {
    row_.clear();
    double pivot = 0;
    for (std::size_t e = A_.begin(j); e < A_.end(j); ++e) {
      if (A_.columns[e] > j) row_.add(A_.columns[e], A_.values[e], 0);
      if (A_.columns[e] == j) pivot = A_.values[e];
    }
    const double own = pivot += made_.shift * (pivot == 0 ? 1 : std::fabs(pivot));
    const sparse_rows& U = made_.U;
    for (std::int32_t k = first_[static_cast<std::size_t>(j)]; k != none;) {
      const std::size_t here = at_[static_cast<std::size_t>(k)];
      const std::int32_t waiting = next_[static_cast<std::size_t>(k)];
      const double multiple = U.values[here] / made_.pivots[static_cast<std::size_t>(k)];
      pivot -= multiple * U.values[here];
      work_.count(static_cast<std::int64_t>(U.end(k) - here));
      for (std::size_t e = here + 1; e < U.end(k); ++e)
        row_.add(U.columns[e], -multiple * U.values[e], level_of(here) + level_of(e) + 1);
      wait(k, here + 1);
      k = waiting;
    }
    // What rounding leaves of the diagonal is no pivot.
    if (!std::isfinite(pivot) || !(pivot > 1e-14 * std::fabs(own))) return false;
    made_.pivots.push_back(pivot);
    append_row(norm_of_row(A_, j));
    wait(j, U.begin(j));
    return true;
  }
  void append_row(double norm) {
    kept_.clear();
    for (const std::int32_t column : row_.columns())
      if (const entry one = row_.at(column); is_kept(rules_, one, norm)) kept_.push_back(one);
    keep_largest(rules_, kept_);
    std::sort(kept_.begin(), kept_.end(), [](const entry& a, const entry& b) { return a.column < b.column; });
    for (const entry& one : kept_) {
      made_.U.append(one.column, one.value);
      if (rules_.levels >= 0) levels_.push_back(one.level);
    }
    made_.U.end_row();
  }
  int level_of(std::size_t e) const { return rules_.levels >= 0 ? levels_[e] : 0; }
  /// Row k waits for the row of its entry e, if it has that many.
  void wait(std::int32_t k, std::size_t e) {
    if (e == made_.U.end(k)) return;
    at_[static_cast<std::size_t>(k)] = e;
    std::int32_t& list = first_[static_cast<std::size_t>(made_.U.columns[e])];
    next_[static_cast<std::size_t>(k)] = list;
    list = k;
  }

  const sparse_rows& A_;
  elimination_rules rules_;
  work_meter& work_;
  working_row row_;
  std::vector<entry> kept_;
  indices first_, next_;         ///< the first row that waits for a row; the next one that waits for the same
  std::vector<std::size_t> at_;  ///< the entry that a waiting row waits with
  std::vector<int> levels_;
  incomplete_factors made_;
};

}  // namespace

incomplete_factors incomplete_cholesky(const sparse_rows& A, const elimination_rules& rules) {
  // A shift of 1e-3 suffices for most matrices, and any matrix of finite entries has one that does.
  constexpr int most_tries = 60;
  constexpr double usual = 1e-3, least = 1e-12;
  double shift = 0;
  work_meter work(rules.bounds);  // of all tries
  for (int k = 0; k < most_tries; ++k) {
    symmetric_elimination attempt(A, rules, shift, work);
    if (attempt.succeeds()) return std::move(attempt).result();
    // What was left out is about drop in size, and as much more may be needed. Small shifts grow faster.
    if (shift == 0)
      shift = rules.levels >= 0 ? usual : std::clamp(10 * rules.drop, least, usual);
    else
      shift *= shift < usual / 2 ? 10 : 2;
    if (shift > rules.bounds.most_shift)
      throw error("making incomplete factors", "the diagonal would have to be shifted by " + std::to_string(shift),
                  "Use ilu: the matrix is not definite, or nearly so");
  }
  incomplete_factors nothing;  // L = D = 1
  nothing.pivots.assign(static_cast<std::size_t>(A.rows()), 1.0);
  nothing.column_at = in_turn(A.rows());
  nothing.L.offsets.assign(static_cast<std::size_t>(A.rows()) + 1, 0);
  nothing.U = nothing.L;
  nothing.shift = shift;
  return nothing;
}

}  // namespace whilst::factorization
