#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/group/executors.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

namespace whilst_test {

using row_split = std::vector<whilst::index_type>;

inline row_split equal_split(whilst::index_type rows, int size) {
  row_split made;
  for (int q = 0; q <= size; ++q) made.push_back(rows * q / size);
  return made;
}

/// What the ranks found, put together.
template <class T>
struct found_by_ranks {
  std::vector<T> x;
  std::vector<whilst::report> reports;
  std::vector<std::string> thrown;
};

/// Solves on so many threads as ranks from x = 0, by the options' executor. later: matrices of the same pattern, for
/// solves behind the first; what is found is that of the last.
template <class T>
found_by_ranks<T> solved_by_ranks(int size, const whilst::csr_matrix<T>& A, const row_split& split,
                                  const std::vector<T>& b, const whilst::linear_solver_options& options,
                                  const std::vector<whilst::csr_matrix<T>>& later = {}) {
  found_by_ranks<T> made;
  made.x.resize(b.size());
  std::mutex lock;
  std::vector<std::optional<whilst::report>> reports(static_cast<std::size_t>(size));
  made.thrown = on_ranks(size, [&](const whilst::group& ranks) {
    const auto q = static_cast<std::size_t>(ranks.rank());
    whilst::distributed_linear_solver<T> solver(
        distributed<T>(ranks, A, split), with_executor(options, options.executor, ranks.rank()), peer_limit_seconds());
    const std::vector<T> own_b(b.begin() + split[q], b.begin() + split[q + 1]);
    std::vector<T> own_x(own_b.size());
    reports[q].emplace(solver.solve(own_b, own_x));
    for (const whilst::csr_matrix<T>& next : later) {
      solver.update_values(distributed<T>(ranks, next, split));
      std::fill(own_x.begin(), own_x.end(), T(0));
      reports[q].emplace(solver.solve(own_b, own_x));
    }
    const std::lock_guard hold(lock);
    std::copy(own_x.begin(), own_x.end(), made.x.begin() + split[q]);
  });
  for (auto& one : reports)
    if (one) made.reports.push_back(*one);
  return made;
}

template <class T>
bool same_bits(const std::vector<T>& one, const std::vector<T>& other) {
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](T a, T b) { return std::bit_cast<bits>(a) == std::bit_cast<bits>(b); });
}

/// A right-hand side with parts of all modes.
template <class T>
std::vector<T> some_b(whilst::index_type n) {
  std::vector<T> b;
  for (whilst::index_type i = 0; i < n; ++i) b.push_back(static_cast<T>(1 + i % 5));
  return b;
}

}  // namespace whilst_test
