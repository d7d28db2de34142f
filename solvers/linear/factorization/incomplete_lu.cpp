#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "solvers/linear/factorization/working_row.hpp"

namespace whilst::factorization {
namespace {

using entry = working_row::entry;

/// Eliminates row after row. Columns are known by their number in A until all is done: an exchange then changes
/// column_at_ and place_ alone.
class row_elimination {
 public:
  row_elimination(const sparse_rows& A, const elimination_rules& rules)
      : A_(A), rules_(rules), row_(A.rows()), column_at_(in_turn(A.rows())), place_(column_at_), work_(rules.bounds) {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(A.rows()); ++i) {
      const double norm = norm_of_row(A, i);
      eliminate(i, norm);
      split(i, norm);
      finish_row(i, norm);
      require_bounds(i);
    }
  }

  incomplete_factors result() && {
    made_.U = sparse_rows();
    std::vector<entry> row;
    for (index_type i = 0; i < U_.rows(); ++i) {
      row.clear();
      for (std::size_t e = U_.begin(i); e < U_.end(i); ++e) row.push_back({place(U_.columns[e]), U_.values[e], 0});
      append(row, made_.U);
    }
    made_.column_at = std::move(column_at_);
    return std::move(made_);
  }

 private:
  std::int32_t place(std::int32_t column) const { return place_[static_cast<std::size_t>(column)]; }
  std::int32_t column_at(std::int32_t place) const { return column_at_[static_cast<std::size_t>(place)]; }

  static void append(std::vector<entry>& entries, sparse_rows& into) {
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.column < b.column; });
    for (const entry& one : entries) into.append(one.column, one.value);
    into.end_row();
  }

  /// Subtracts multiples of the rows above. The entries left of the diagonal become those of L, or stay behind.
  void eliminate(std::int32_t i, double norm) {
    row_.clear();
    lower_.clear();
    std::priority_queue<std::int32_t, indices, std::greater<>> places;
    const auto add = [&](std::int32_t column, double value, int level) {
      if (row_.add(column, value, level) && place(column) < i) places.push(place(column));
    };
    for (std::size_t e = A_.begin(i); e < A_.end(i); ++e) add(A_.columns[e], A_.values[e], 0);
    for (; !places.empty(); places.pop()) {
      const std::int32_t k = places.top();
      entry multiple = row_.at(column_at(k));
      multiple.value /= made_.pivots[static_cast<std::size_t>(k)];
      if (!is_kept(rules_, multiple, norm)) continue;
      work_.count(static_cast<std::int64_t>(U_.end(k) - U_.begin(k)));
      for (std::size_t e = U_.begin(k); e < U_.end(k); ++e)
        add(U_.columns[e], -multiple.value * U_.values[e], multiple.level + level_of(e) + 1);
      multiple.column = k;
      lower_.push_back(multiple);
    }
  }
  int level_of(std::size_t e) const { return rules_.levels >= 0 ? levels_of_U_[e] : 0; }
  void require_bounds(std::int32_t i) {
    const std::int64_t nonzeros = made_.L.nonzeros() + U_.nonzeros();
    work_.count(static_cast<std::int64_t>(row_.columns().size()));
    if (!work_.is_within(nonzeros)) refuse_factors(work_, i + 1, A_.rows(), nonzeros);
  }

  void split(std::int32_t i, double norm) {
    upper_.clear();
    diagonal_ = 0;
    for (const std::int32_t column : row_.columns()) {
      const entry one = row_.at(column);
      if (place(column) == i) {
        diagonal_ = one.value;
      } else if (place(column) > i && is_kept(rules_, one, norm)) {
        upper_.push_back(one);
      }
    }
    keep_largest(rules_, lower_);
    exchange(i);
    keep_largest(rules_, upper_);
  }
  /// Makes the largest entry of the row the pivot, if the one on the diagonal is much smaller.
  void exchange(std::int32_t i) {
    if (rules_.pivoting <= 0 || upper_.empty()) return;
    // Beyond the row's block, an exchange would join blocks that elimination leaves apart.
    const std::int32_t end = rules_.block_ends.empty() ? static_cast<std::int32_t>(A_.rows())
                                                       : rules_.block_ends[static_cast<std::size_t>(i)];
    const auto size = [&](const entry& one) { return place(one.column) < end ? std::fabs(one.value) : -1; };
    entry& largest = *std::max_element(upper_.begin(), upper_.end(),
                                       [&](const entry& a, const entry& b) { return size(a) < size(b); });
    if (size(largest) < 0 || std::fabs(diagonal_) >= rules_.pivoting * std::fabs(largest.value)) return;
    const std::int32_t there = place(largest.column), before = column_at(i);
    std::swap(column_at_[static_cast<std::size_t>(i)], column_at_[static_cast<std::size_t>(there)]);
    std::swap(place_[static_cast<std::size_t>(before)], place_[static_cast<std::size_t>(largest.column)]);
    std::swap(diagonal_, largest.value);
    largest.column = before;
    if (largest.value == 0) {
      largest = upper_.back();
      upper_.pop_back();
    }
  }

  void finish_row(std::int32_t, double norm) {
    // A pivot that is but rounding, or none, would make rows of inf. What replaces it is of the size of what is left
    // out of the row.
    constexpr double rounding = 1e-14, least_replacement = 1e-4;
    if (!std::isfinite(diagonal_) || !(std::fabs(diagonal_) > rounding * norm)) {
      diagonal_ = std::copysign(norm > 0 ? std::max(rules_.drop, least_replacement) * norm : 1.0, diagonal_);
      if (!std::isfinite(diagonal_)) diagonal_ = 1;
      ++made_.replaced_pivots;
    }
    made_.pivots.push_back(diagonal_);
    append(lower_, made_.L);
    for (const entry& one : upper_) {
      U_.append(one.column, one.value);
      if (rules_.levels >= 0) levels_of_U_.push_back(one.level);
    }
    U_.end_row();
  }

  const sparse_rows& A_;
  elimination_rules rules_;
  working_row row_;
  std::vector<entry> lower_, upper_;
  double diagonal_ = 0;
  indices column_at_, place_;
  sparse_rows U_;  ///< its columns by number
  std::vector<int> levels_of_U_;
  work_meter work_;
  incomplete_factors made_;
};

}  // namespace

incomplete_factors incomplete_lu(const sparse_rows& A, const elimination_rules& rules) {
  return row_elimination(A, rules).result();
}

}  // namespace whilst::factorization
