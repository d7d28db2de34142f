#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "solvers/linear/factorization/elimination.hpp"

namespace whilst::factorization {

/// A row, or a column, while it is eliminated: spread out, so that an entry is found by its column.
class working_row {
 public:
  struct entry {
    std::int32_t column;
    double value;
    int level;  ///< of fill
  };

  explicit working_row(index_type n) : spots_(static_cast<std::size_t>(n)) {}

  /// Adds to an entry; true if it is new.
  bool add(std::int32_t column, double value, int level) {
    spot& at = spots_[static_cast<std::size_t>(column)];
    if (at.is_in) {
      at.value += value;
      at.level = std::min(at.level, level);
      return false;
    }
    at = {value, level, true};
    columns_.push_back(column);
    return true;
  }
  const indices& columns() const { return columns_; }
  entry at(std::int32_t column) const {
    const spot& there = spots_[static_cast<std::size_t>(column)];
    return {column, there.value, there.level};
  }
  void clear() {
    for (const std::int32_t j : columns_) spots_[static_cast<std::size_t>(j)].is_in = false;
    columns_.clear();
  }

 private:
  /// What an elimination adds to lies together: it comes here for each multiplication.
  struct spot {
    double value = 0;
    int level = 0;
    bool is_in = false;
  };
  std::vector<spot> spots_;
  indices columns_;
};

/// Whether an entry stays, in a row whose norm is given.
inline bool is_kept(const elimination_rules& rules, const working_row::entry& one, double norm) {
  if (!std::isfinite(one.value)) return false;
  return rules.levels >= 0 ? one.level <= rules.levels : one.value != 0 && std::fabs(one.value) >= rules.drop * norm;
}

/// Keeps the largest entries, as many as the rules allow.
inline void keep_largest(const elimination_rules& rules, std::vector<working_row::entry>& entries) {
  const auto most = static_cast<std::size_t>(rules.most_of_row);
  if (rules.levels >= 0 || most == 0 || entries.size() <= most) return;
  std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(most), entries.end(),
                   [](const working_row::entry& a, const working_row::entry& b) {
                     const double of_a = std::fabs(a.value), of_b = std::fabs(b.value);
                     return of_a != of_b ? of_a > of_b : a.column < b.column;
                   });
  entries.resize(most);
}

inline double norm_of_row(const sparse_rows& A, index_type i) {
  double norm = 0;
  for (std::size_t e = A.begin(i); e < A.end(i); ++e) norm = std::hypot(norm, A.values[e]);
  return norm;
}

}  // namespace whilst::factorization
