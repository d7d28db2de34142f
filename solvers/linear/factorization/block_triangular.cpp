#include "solvers/linear/factorization/block_triangular.hpp"

#include <algorithm>

namespace whilst::factorization {
namespace {

/// Tarjan's search, with a path of its own in place of recursion, which would be as deep as the matrix is long.
class component_search {
 public:
  explicit component_search(const sparse_rows& A)
      : A_(A), number_(size(), unseen), lowest_(size(), 0), next_entry_(size(), 0) {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(A.rows()); ++i)
      if (number(i) == unseen) search_from(i);
  }

  /// Found last is what no other reaches: it comes first.
  diagonal_blocks result() const {
    diagonal_blocks found{{}, {0}};
    for (auto component = components_.rbegin(); component != components_.rend(); ++component) {
      found.order.insert(found.order.end(), component->begin(), component->end());
      found.offsets.push_back(static_cast<std::int32_t>(found.order.size()));
    }
    return found;
  }

 private:
  static constexpr std::int32_t unseen = -1, done = -2;

  std::size_t size() const { return static_cast<std::size_t>(A_.rows()); }
  std::int32_t& number(std::int32_t i) { return number_[static_cast<std::size_t>(i)]; }
  std::int32_t& lowest(std::int32_t i) { return lowest_[static_cast<std::size_t>(i)]; }
  std::size_t& next_entry(std::int32_t i) { return next_entry_[static_cast<std::size_t>(i)]; }

  void enter(std::int32_t i) {
    number(i) = lowest(i) = numbers_++;
    next_entry(i) = A_.begin(i);
    open_.push_back(i);
    path_.push_back(i);
  }
  void search_from(std::int32_t start) {
    for (enter(start); !path_.empty();) {
      const std::int32_t i = path_.back();
      if (next_entry(i) == A_.end(i)) {
        leave(i);
        continue;
      }
      const std::int32_t j = A_.columns[next_entry(i)++];
      if (number(j) == unseen)
        enter(j);
      else if (number(j) != done)
        lowest(i) = std::min(lowest(i), number(j));
    }
  }
  void leave(std::int32_t i) {
    path_.pop_back();
    if (!path_.empty()) lowest(path_.back()) = std::min(lowest(path_.back()), lowest(i));
    if (lowest(i) != number(i)) return;
    const auto first = std::find(open_.rbegin(), open_.rend(), i).base() - 1;
    indices component(first, open_.end());
    open_.erase(first, open_.end());
    for (const std::int32_t member : component) number(member) = done;
    std::sort(component.begin(), component.end());
    components_.push_back(std::move(component));
  }

  const sparse_rows& A_;
  indices number_;  ///< in the order of the search
  indices lowest_;  ///< number of an open row that this one reaches
  std::vector<std::size_t> next_entry_;
  indices open_, path_;  ///< rows whose component is not known yet; those from the start to where the search is
  std::int32_t numbers_ = 0;
  std::vector<indices> components_;
};

}  // namespace

diagonal_blocks block_triangular_order(const sparse_rows& A) { return component_search(A).result(); }

}  // namespace whilst::factorization
