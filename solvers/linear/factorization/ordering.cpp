#include "solvers/linear/factorization/ordering.hpp"

#include <algorithm>
#include <utility>

namespace whilst::factorization {
namespace {

class search {
 public:
  explicit search(const sparse_rows& pattern)
      : pattern_(pattern), visit_(static_cast<std::size_t>(pattern.rows()), 0) {}

  /// Appends the component of a row to `order`, breadth first, neighbours by degree. Returns where its last level
  /// begins, and how many levels there are.
  std::pair<std::size_t, int> visit_from(std::int32_t start, indices& order) {
    ++visits_;
    std::size_t level_begins = order.size();
    int levels = 0;
    order.push_back(start);
    visit_[static_cast<std::size_t>(start)] = visits_;
    for (std::size_t at = level_begins, last_level = at;; ++levels) {
      last_level = at;
      const std::size_t level_ends = order.size();
      for (; at < level_ends; ++at) append_neighbours(order[at], order);
      if (order.size() == level_ends) return {last_level, levels + 1};
    }
  }
  index_type degree(std::int32_t i) const { return static_cast<index_type>(pattern_.end(i) - pattern_.begin(i)); }

 private:
  void append_neighbours(std::int32_t i, indices& order) {
    const std::size_t first = order.size();
    for (std::size_t e = pattern_.begin(i); e < pattern_.end(i); ++e) {
      const std::int32_t j = pattern_.columns[e];
      int& visit = visit_[static_cast<std::size_t>(j)];
      if (visit == visits_) continue;
      visit = visits_;
      order.push_back(j);
    }
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(),
                     [this](std::int32_t a, std::int32_t b) { return degree(a) < degree(b); });
  }

  const sparse_rows& pattern_;
  std::vector<int> visit_;  ///< the last visit that came to a row
  int visits_ = 0;
};

}  // namespace

indices reverse_cuthill_mckee(const sparse_rows& pattern) {
  search of(pattern);
  indices order, component;
  std::vector<char> is_ordered(static_cast<std::size_t>(pattern.rows()), false);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(pattern.rows()); ++i) {
    if (is_ordered[static_cast<std::size_t>(i)]) continue;
    // From the row of least degree in the last level there are at least as many levels.
    std::int32_t start = i;
    for (int levels = 0;;) {
      component.clear();
      const auto [last_level, found] = of.visit_from(start, component);
      if (found <= levels) break;
      levels = found;
      start = *std::min_element(component.begin() + static_cast<std::ptrdiff_t>(last_level), component.end(),
                                [&](std::int32_t a, std::int32_t b) { return of.degree(a) < of.degree(b); });
    }
    for (const std::int32_t j : component) is_ordered[static_cast<std::size_t>(j)] = true;
    order.insert(order.end(), component.begin(), component.end());
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace whilst::factorization
