#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "solvers/linear/factorization/ordering.hpp"

namespace whilst::factorization {
namespace {

/// The graph of what is left while rows are eliminated. An eliminated row becomes an element: it joins its neighbours
/// with one another, without an edge for each pair.
class quotient_graph {
 public:
  quotient_graph(const sparse_rows& pattern, work_meter& work)
      : work_(work),
        n_(static_cast<std::size_t>(pattern.rows())),
        neighbours_(n_),
        elements_(n_),
        members_(n_),
        degree_(n_),
        is_done_(n_, false),
        mark_(n_, 0),
        outside_(n_),
        outside_mark_(n_, 0) {
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t e = pattern.begin(static_cast<index_type>(i)); e < pattern.end(static_cast<index_type>(i)); ++e)
        if (const std::int32_t j = pattern.columns[e]; j != static_cast<std::int32_t>(i)) neighbours_[i].push_back(j);
    put_dense_rows_last();
    for (std::size_t i = 0; i < n_; ++i)
      if (!is_done_[i]) next_.emplace(degree_[i] = neighbours_[i].size(), static_cast<std::int32_t>(i));
  }

  /// Nothing beyond the bounds.
  std::optional<indices> order() && {
    while (!next_.empty()) {
      if (!work_.is_within()) return std::nullopt;
      const std::int32_t pivot = next_.begin()->second;
      next_.erase(next_.begin());
      order_.push_back(pivot);
      eliminate(pivot);
    }
    order_.insert(order_.end(), last_.begin(), last_.end());
    return std::move(order_);
  }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  /// A row with entries everywhere fills nothing more, and would be looked at in each step.
  void put_dense_rows_last() {
    const double most = std::max(16.0, 10 * std::sqrt(static_cast<double>(n_)));
    for (std::size_t i = 0; i < n_; ++i) {
      if (static_cast<double>(neighbours_[i].size()) <= most) continue;
      is_done_[i] = true;
      last_.push_back(static_cast<std::int32_t>(i));
    }
    if (last_.empty()) return;
    for (indices& row : neighbours_) std::erase_if(row, [&](std::int32_t j) { return is_done_[index(j)]; });
  }

  void eliminate(std::int32_t pivot) {
    is_done_[index(pivot)] = true;
    indices& members = members_[index(pivot)];
    ++marks_;
    mark_[index(pivot)] = marks_;
    const auto add = [&](const indices& rows) {
      work_.count(static_cast<std::int64_t>(rows.size()));
      for (const std::int32_t i : rows) {
        if (mark_[index(i)] == marks_) continue;
        mark_[index(i)] = marks_;
        members.push_back(i);
      }
    };
    add(neighbours_[index(pivot)]);
    for (const std::int32_t element : elements_[index(pivot)]) {
      add(members_[index(element)]);
      members_[index(element)] = {};  // the new element contains it
    }
    neighbours_[index(pivot)] = elements_[index(pivot)] = {};
    if (members.size() == next_.size()) {  // all that is left: no order fills less than another
      for (const auto& [degree, i] : next_) order_.push_back(i);
      next_.clear();
      return;
    }
    for (const std::int32_t i : members) leave_what_pivot_joins(i, pivot);
    for (const std::int32_t i : members) update_degree(i, pivot);
  }
  void leave_what_pivot_joins(std::int32_t i, std::int32_t pivot) {
    work_.count(static_cast<std::int64_t>(neighbours_[index(i)].size() + 2 * elements_[index(i)].size()));
    std::erase_if(neighbours_[index(i)], [&](std::int32_t j) { return mark_[index(j)] == marks_; });
    std::erase_if(elements_[index(i)], [&](std::int32_t e) { return members_[index(e)].empty(); });
    for (const std::int32_t element : elements_[index(i)]) {
      if (outside_mark_[index(element)] != marks_) {
        outside_mark_[index(element)] = marks_;
        outside_[index(element)] = members_[index(element)].size();
      }
      --outside_[index(element)];
    }
    elements_[index(i)].push_back(pivot);
  }
  /// The degree's bound, with elements outside the pivot's counted as if they did not overlap. Those that have nothing
  /// outside are left.
  void update_degree(std::int32_t i, std::int32_t pivot) {
    const std::size_t of_pivot = members_[index(pivot)].size() - 1;
    std::size_t bound = neighbours_[index(i)].size() + of_pivot;
    std::erase_if(elements_[index(i)], [&](std::int32_t e) { return e != pivot && outside_[index(e)] == 0; });
    for (const std::int32_t element : elements_[index(i)])
      if (element != pivot) bound += outside_[index(element)];
    const std::size_t before = degree_[index(i)];
    next_.erase({before, i});
    next_.emplace(degree_[index(i)] = std::min({bound, before + of_pivot, next_.size()}), i);
  }

  work_meter& work_;
  std::size_t n_;
  std::vector<indices> neighbours_, elements_;  ///< of a row that is left
  std::vector<indices> members_;                ///< of an element, by its pivot; empty for what is none any more
  std::vector<std::size_t> degree_;
  std::vector<char> is_done_;
  std::vector<std::int32_t> mark_;
  std::vector<std::size_t> outside_;  ///< members of an element that the pivot does not join, where marked
  std::vector<std::int32_t> outside_mark_;
  std::int32_t marks_ = 0;
  std::set<std::pair<std::size_t, std::int32_t>> next_;
  indices order_, last_;
};

}  // namespace

std::optional<indices> minimum_degree(const sparse_rows& pattern, const factorization_bounds& bounds) {
  constexpr int share = 5;
  work_meter work(bounds, share);
  return quotient_graph(pattern, work).order();
}
indices minimum_degree(const sparse_rows& pattern) { return *minimum_degree(pattern, {}); }

}  // namespace whilst::factorization
