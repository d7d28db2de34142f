#include "solvers/linear/factorization/matching.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace whilst::factorization {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::int32_t none = -1;

/// Minimum cost matching of sparse columns. Its state is a matching and duals u, v with u_i + v_j <= c_ij, where
/// matched entries have u_i + v_j = c_ij.
class assignment {
 public:
  assignment(const sparse_rows& A, work_meter& work)
      : n_(static_cast<std::size_t>(A.rows())),
        by_column_(transposed(A)),
        largest_(n_, 0),
        u_(n_, infinite),
        v_(n_, infinite),
        column_of_row_(n_, none),
        row_of_column_(n_, none),
        distance_(n_, infinite),
        came_from_(n_, none),
        is_final_(n_, false),
        work_(work) {
    take_costs();
    begin_with_duals();
    match_without_cost();
    for (std::size_t j = 0; j < n_ && work_.is_within(); ++j)
      if (row_of_column_[j] == none) augment_from(j);
  }

  matching result() {
    matching found{column_of_row_, 0, {u_, v_}};
    // What is not matched: a feasible dual, and the columns that are left, in turn.
    std::size_t left = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      if (row_of_column_[j] == none) found.scales.column[j] = least_reduced_cost(j);
      found.scales.column[j] -= largest_[j];
    }
    for (std::int32_t& column : found.column_of_row) {
      if (column != none) {
        ++found.matched;
        continue;
      }
      while (row_of_column_[left] != none) ++left;
      column = static_cast<std::int32_t>(left++);
    }
    // e^300 is beyond all that a solve can use, and products with two such factors do not overflow.
    for (std::vector<double>* scales : {&found.scales.row, &found.scales.column})
      for (double& one : *scales) one = std::clamp(one, -300.0, 300.0);
    return found;
  }

 private:
  std::size_t begin(std::size_t j) const { return by_column_.begin(static_cast<index_type>(j)); }
  std::size_t end(std::size_t j) const { return by_column_.end(static_cast<index_type>(j)); }
  std::size_t row(std::size_t e) const { return static_cast<std::size_t>(by_column_.columns[e]); }
  double& cost(std::size_t e) { return by_column_.values[e]; }

  /// Costs take the place of values.
  void take_costs() {
    for (std::size_t j = 0; j < n_; ++j) {
      if (begin(j) == end(j)) continue;
      double largest = -infinite;
      for (std::size_t e = begin(j); e < end(j); ++e)
        largest = std::max(largest, cost(e) = std::log(std::fabs(cost(e))));
      for (std::size_t e = begin(j); e < end(j); ++e) cost(e) = largest - cost(e);
      largest_[j] = largest;
    }
  }
  double least_reduced_cost(std::size_t j) {
    double least = begin(j) == end(j) ? 0 : infinite;
    for (std::size_t e = begin(j); e < end(j); ++e) least = std::min(least, cost(e) - u_[row(e)]);
    return least;
  }
  void begin_with_duals() {
    for (std::size_t e = 0; e < by_column_.columns.size(); ++e) u_[row(e)] = std::min(u_[row(e)], cost(e));
    for (double& u : u_)
      if (u == infinite) u = 0;  // an empty row
    for (std::size_t j = 0; j < n_; ++j) v_[j] = least_reduced_cost(j);
  }
  void match_without_cost() {
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t e = begin(j); e < end(j); ++e) {
        if (cost(e) - u_[row(e)] > v_[j] || column_of_row_[row(e)] != none) continue;
        match(row(e), j);
        break;
      }
    }
  }
  void match(std::size_t i, std::size_t j) {
    column_of_row_[i] = static_cast<std::int32_t>(j);
    row_of_column_[j] = static_cast<std::int32_t>(i);
  }

  /// Dijkstra's search from a free column to the nearest free row, over reduced costs, which are not negative. No
  /// path: the column stays free, and no later change of the matching opens one.
  void augment_from(std::size_t start) {
    using reached = std::pair<double, std::size_t>;
    std::priority_queue<reached, std::vector<reached>, std::greater<>> next;
    std::vector<std::size_t> touched, final_rows;
    double shortest = infinite, so_far = 0;
    std::size_t last = n_;  // the free row at the end of the shortest path
    for (std::size_t j = start;;) {
      work_.count(static_cast<std::int64_t>(end(j) - begin(j)));
      for (std::size_t e = begin(j); e < end(j); ++e) {
        const std::size_t i = row(e);
        const double there = so_far + std::max(0.0, cost(e) - u_[i] - v_[j]);
        if (is_final_[i] || there >= distance_[i] || there >= shortest) continue;
        if (distance_[i] == infinite) touched.push_back(i);
        distance_[i] = there;
        came_from_[i] = static_cast<std::int32_t>(j);
        if (column_of_row_[i] == none) {
          shortest = there;
          last = i;
        } else {
          next.emplace(there, i);
        }
      }
      while (!next.empty() && is_final_[next.top().second]) next.pop();
      if (next.empty() || next.top().first >= shortest) break;
      const std::size_t i = next.top().second;
      so_far = next.top().first;
      is_final_[i] = true;
      final_rows.push_back(i);
      j = static_cast<std::size_t>(column_of_row_[i]);
    }
    if (last != n_) {
      for (const std::size_t i : final_rows) u_[i] += distance_[i] - shortest;
      for (std::size_t i = last;;) {
        const auto j = static_cast<std::size_t>(came_from_[i]);
        const std::int32_t before = row_of_column_[j];
        match(i, j);
        if (j == start) break;
        i = static_cast<std::size_t>(before);
      }
      // Each row that was reached for good has a column, whose dual makes the matched entry tight.
      final_rows.push_back(last);
      for (const std::size_t i : final_rows) tighten(i);
    }
    for (const std::size_t i : touched) {
      distance_[i] = infinite;
      is_final_[i] = false;
    }
  }
  void tighten(std::size_t i) {
    const auto j = static_cast<std::size_t>(column_of_row_[i]);
    for (std::size_t e = begin(j); e < end(j); ++e)
      if (row(e) == i) v_[j] = cost(e) - u_[i];
  }

  std::size_t n_;
  sparse_rows by_column_;
  std::vector<double> largest_, u_, v_;  ///< logarithms of columns' largest entries; duals
  indices column_of_row_, row_of_column_;
  // Of a search; as here between searches.
  std::vector<double> distance_;
  indices came_from_;
  std::vector<char> is_final_;
  work_meter& work_;
};

}  // namespace

std::optional<matching> maximum_product_matching(const sparse_rows& A, const factorization_bounds& bounds) {
  constexpr int share = 5;
  work_meter work(bounds, share);
  assignment found(A, work);
  if (!work.is_within()) return std::nullopt;
  return found.result();
}
matching maximum_product_matching(const sparse_rows& A) { return *maximum_product_matching(A, {}); }

}  // namespace whilst::factorization
