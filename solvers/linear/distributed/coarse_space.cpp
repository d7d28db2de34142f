#include "solvers/linear/distributed/coarse_space.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

namespace whilst {
namespace {

constexpr const char* making_coarse = "making a coarse space for several ranks";

std::size_t at(index_type i) { return static_cast<std::size_t>(i); }

/// Calls visit(column, value) for each entry of a row.
template <class T, class Visit>
void for_row(const csr_matrix<T>& A, index_type i, const Visit& visit) {
  for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
    visit(A.column_indices()[at(k)], A.values()[at(k)]);
}

/// Aggregates of about `wanted` rows, each grown breadth first along the entries of own columns. What is cut off with
/// less than a third of that joins a neighbour. Returns the aggregate of each row, numbered from 0.
template <class T>
std::vector<std::int32_t> grown_aggregates(const csr_matrix<T>& A, index_type wanted) {
  const index_type n = A.rows();
  constexpr std::int32_t none = -1;
  std::vector<std::int32_t> of(at(n), none);
  std::deque<index_type> seeds;
  std::int32_t count = 0;
  for (index_type next = 0; next < n;) {
    if (of[at(next)] != none) {
      ++next;
      continue;
    }
    seeds.push_back(next);
    while (!seeds.empty()) {
      const index_type seed = seeds.front();
      seeds.pop_front();
      if (of[at(seed)] != none) continue;
      std::deque<index_type> front{seed};
      std::vector<index_type> grown;
      std::int32_t neighbour = none;
      while (!front.empty() && static_cast<index_type>(grown.size()) < wanted) {
        const index_type i = front.front();
        front.pop_front();
        if (of[at(i)] != none) continue;
        of[at(i)] = count;
        grown.push_back(i);
        for_row(A, i, [&](std::int32_t j, T) {
          if (j >= n || of[at(j)] == count) return;
          if (of[at(j)] == none) {
            front.push_back(j);
          } else {
            neighbour = of[at(j)];
          }
        });
      }
      if (neighbour != none && 3 * static_cast<index_type>(grown.size()) < wanted) {
        for (const index_type i : grown) of[at(i)] = neighbour;
      } else {
        ++count;
      }
      seeds.insert(seeds.end(), front.begin(), front.end());
    }
  }
  return of;
}

/// Replaces a symmetric matrix by its Cholesky factor, below the diagonal. Unknowns whose pivot is not clearly positive
/// are left out: their pivot becomes 0.
void factorize(std::vector<double>& E, index_type n) {
  double largest = 0;
  for (index_type i = 0; i < n; ++i) largest = std::fmax(largest, std::fabs(E[at(i * n + i)]));
  const double lost = static_cast<double>(n) * std::numeric_limits<double>::epsilon() * largest;
  for (index_type i = 0; i < n; ++i) {
    double* const row = &E[at(i * n)];
    for (index_type j = 0; j <= i; ++j) {
      const double* const other = &E[at(j * n)];
      double sum = row[j];
      for (index_type k = 0; k < j; ++k) sum -= row[k] * other[k];
      if (j < i) {
        row[j] = other[j] > 0 ? sum / other[j] : 0;
      } else {
        row[i] = sum > lost ? std::sqrt(sum) : 0;
      }
    }
  }
}
/// Solves with that factor, in place.
void solve(const std::vector<double>& L, index_type n, std::vector<double>& x) {
  for (index_type i = 0; i < n; ++i) {
    double sum = x[at(i)];
    for (index_type k = 0; k < i; ++k) sum -= L[at(i * n + k)] * x[at(k)];
    x[at(i)] = L[at(i * n + i)] > 0 ? sum / L[at(i * n + i)] : 0;
  }
  for (index_type i = n - 1; i >= 0; --i) {
    x[at(i)] = L[at(i * n + i)] > 0 ? x[at(i)] / L[at(i * n + i)] : 0;
    for (index_type k = 0; k < i; ++k) x[at(k)] -= L[at(i * n + k)] * x[at(i)];
  }
}

/// The rows of E that a rank has. aggregates: of its rows and ghosts, numbered over all ranks.
template <class T>
std::vector<double> own_rows_of_E(const csr_matrix<T>& local, const std::vector<double>& aggregates, index_type own,
                                  index_type first, index_type unknowns) {
  std::vector<double> E(at(own * unknowns));
  for (index_type i = 0; i < local.rows(); ++i) {
    const index_type row = static_cast<index_type>(aggregates[at(i)]) - first;
    for_row(local, i, [&](std::int32_t j, T value) {
      E[at(row * unknowns + static_cast<index_type>(aggregates[at(j)]))] += static_cast<double>(value);
    });
  }
  return E;
}

}  // namespace

template <class T>
coarse_space<T>::coarse_space(const exchange& ranks, const distributed_csr_matrix<T>& A) {
  const group& all = ranks.ranks();
  const index_type rows = A.partition().rows();
  const auto counts = all.all_gather<index_type>(making_coarse, [&] {
    aggregate_of_ =
        grown_aggregates(A.local(), std::max<index_type>(2, (rows + unknowns_wanted - 1) / unknowns_wanted));
    own_ = aggregate_of_.empty() ? 0 : *std::max_element(aggregate_of_.begin(), aggregate_of_.end()) + 1;
    return std::vector{own_};
  });
  std::vector<index_type> firsts{0};
  for (const index_type count : counts.all) firsts.push_back(firsts.back() + count);
  const row_partition partition(firsts);
  unknowns_ = partition.rows();
  first_ = partition.first(all.rank());
  std::vector<index_type> ghosts;  // a rank without rows reads nothing
  for (index_type j = 0; own_ > 0 && j < unknowns_; ++j)
    if (!partition.has(all.rank(), j)) ghosts.push_back(j);
  halo_.emplace(ranks, make_halo_plan(all, partition, std::move(ghosts)));

  all.agree(making_coarse, [&] {
    std::vector<std::int32_t> first_members(at(own_ + 1)), members(aggregate_of_.size());
    for (const std::int32_t a : aggregate_of_) ++first_members[at(a + 1)];
    std::partial_sum(first_members.begin(), first_members.end(), first_members.begin());
    std::vector<std::int32_t> next(first_members.begin(), first_members.end() - 1);
    for (std::size_t i = 0; i < aggregate_of_.size(); ++i)
      members[at(next[at(aggregate_of_[i])]++)] = static_cast<std::int32_t>(i);
    const auto copied = [&](const std::vector<std::int32_t>& from) {
      return buffer<std::int32_t>(ranks.where(), static_cast<index_type>(from.size()),
                                  from.empty() ? nullptr : from.data());
    };
    first_members_ = copied(first_members);
    members_ = copied(members);
    aggregates_on_place_ = copied(aggregate_of_);
    inverse_ = buffer<double>(ranks.where(), own_ * unknowns_);
  });
  update_values(A);
}

template <class T>
void coarse_space<T>::update_values(const distributed_csr_matrix<T>& A) {
  std::vector<double> numbers;  // exact up to 2^53
  for (const std::int32_t a : aggregate_of_) numbers.push_back(static_cast<double>(first_ + a));
  numbers.resize(at(A.halo().with_ghosts()));
  exchange_halo<double>(A.ranks(), A.halo(), numbers);
  const auto E = A.ranks().template all_gather<double>(
      making_coarse, [&] { return own_rows_of_E(A.local(), numbers, own_, first_, unknowns_); });
  A.ranks().agree(making_coarse, [&] {
    const std::vector<double> rows = own_rows_of_inverse(E.all);
    if (!rows.empty()) inverse_.upload(rows.data());
  });
}

template <class T>
std::vector<double> coarse_space<T>::own_rows_of_inverse(const std::vector<double>& E) const {
  std::vector<double> L = E, rows;
  double trace = 0;
  for (index_type i = 0; i < unknowns_; ++i) trace += E[at(i * unknowns_ + i)];
  const double sign = trace < 0 ? -1 : 1;  // solves take a negative definite A for -A
  for (double& entry : L) entry *= sign;
  factorize(L, unknowns_);
  rows.reserve(at(own_ * unknowns_));
  for (index_type i = first_; i < first_ + own_; ++i) {
    std::vector<double> x(at(unknowns_));
    x[at(i)] = sign;
    solve(L, unknowns_, x);
    const auto own = x.begin() + first_;
    rows.insert(rows.end(), own, own + own_);
    rows.insert(rows.end(), x.begin(), own);
    rows.insert(rows.end(), own + own_, x.end());
  }
  return rows;
}

template <class T>
coarse_steps<T> coarse_space<T>::of_steps() const {
  const dense_rows rows{own_, unknowns_, inverse_.data()};
  return {own_,
          first_members_.data(),
          members_.data(),
          aggregates_on_place_.data(),
          {rows, halo_->of_steps(), halo_->is_mutual(), unknowns_}};
}

template class coarse_space<float>;
template class coarse_space<double>;

}  // namespace whilst
