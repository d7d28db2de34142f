#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst_test {

/// Numbers from 0 to below `bound`, by a linear congruential generator: the same everywhere.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % bound;
  }

 private:
  std::uint64_t state_;
};

/// The matrix with rows and columns in an order by chance.
template <class T>
whilst::csr_matrix<T> shuffled(const whilst::csr_matrix<T>& A, std::uint64_t seed = 1) {
  dice chance(seed);
  std::vector<std::int32_t> old_numbers(static_cast<std::size_t>(A.rows()));
  std::iota(old_numbers.begin(), old_numbers.end(), 0);
  for (std::size_t i = old_numbers.size(); i > 1; --i) std::swap(old_numbers[i - 1], old_numbers[chance.below(i)]);
  std::vector<std::int32_t> numbers(old_numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[static_cast<std::size_t>(old_numbers[i])] = static_cast<std::int32_t>(i);
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  for (const std::int32_t i : old_numbers) {
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto at = static_cast<std::size_t>(k);
      columns.push_back(numbers[static_cast<std::size_t>(A.column_indices()[at])]);
      values.push_back(A.values()[at]);
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return {A.rows(), A.columns(), offsets, columns, values};
}

/// Calls visit(i, j) for each entry.
template <class T, class Visit>
void visit_entries(const whilst::csr_matrix<T>& A, const Visit& visit) {
  for (whilst::index_type i = 0; i < A.rows(); ++i)
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      visit(static_cast<std::size_t>(i), static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)]));
}

/// How many entries join rows of two ranks.
template <class T>
long cut_entries(const whilst::csr_matrix<T>& A, const std::vector<int>& rank_of_row) {
  long cut = 0;
  visit_entries(A, [&](std::size_t i, std::size_t j) { cut += rank_of_row[i] != rank_of_row[j]; });
  return cut;
}
/// How many entries of vectors each rank reads of others, by looking at all entries.
template <class T>
std::vector<std::size_t> counted_ghosts(const whilst::csr_matrix<T>& A, const std::vector<int>& rank_of_row,
                                        int ranks) {
  std::vector<std::set<std::size_t>> ghosts(static_cast<std::size_t>(ranks));
  visit_entries(A, [&](std::size_t i, std::size_t j) {
    if (rank_of_row[i] != rank_of_row[j]) ghosts[static_cast<std::size_t>(rank_of_row[i])].insert(j);
  });
  std::vector<std::size_t> counts;
  for (const auto& one : ghosts) counts.push_back(one.size());
  return counts;
}
/// Nonzeros and rows of each rank.
template <class T>
std::vector<whilst::index_type> work_of_ranks(const whilst::csr_matrix<T>& A, const std::vector<int>& rank_of_row,
                                              int ranks) {
  std::vector<whilst::index_type> work(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < rank_of_row.size(); ++i) {
    const auto row = static_cast<whilst::index_type>(i);
    work[static_cast<std::size_t>(rank_of_row[i])] += A.row_offset(row + 1) - A.row_offset(row) + 1;
  }
  return work;
}

/// Consecutive rows, as many on each rank.
inline std::vector<int> consecutive_parts(whilst::index_type rows, int ranks) {
  std::vector<int> made;
  for (whilst::index_type i = 0; i < rows; ++i) made.push_back(static_cast<int>(i * ranks / rows));
  return made;
}
/// By chance, as many on each; by chance, most on rank 0; none on ranks of odd numbers; the last rows first; all on the
/// last rank.
inline std::vector<std::vector<int>> any_parts(whilst::index_type rows, int ranks) {
  dice chance(static_cast<std::uint64_t>(ranks));
  const auto one_of = [&](int count) { return static_cast<int>(chance.below(static_cast<std::uint64_t>(count))); };
  std::vector<int> even, uneven, with_none, last(static_cast<std::size_t>(rows), ranks - 1);
  for (whilst::index_type i = 0; i < rows; ++i) {
    even.push_back(one_of(ranks));
    uneven.push_back(one_of(10) < 9 ? 0 : one_of(ranks));
    with_none.push_back(2 * one_of((ranks + 1) / 2));
  }
  std::vector<int> backwards = consecutive_parts(rows, ranks);
  std::reverse(backwards.begin(), backwards.end());
  return {even, uneven, with_none, backwards, last};
}

}  // namespace whilst_test
