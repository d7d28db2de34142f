#pragma once

// For tests of several ranks through the C interface.

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/c/c_handles.hpp"

namespace whilst_test {

using c_group = owned_handle<whilst_group, whilst_group_destroy>;

/// Does the work as each rank of a group of threads. Checks, which Catch2 wants on one thread, come afterwards: what
/// work returns for each rank is what the library said of the first call that failed, or empty.
inline std::vector<std::string> on_ranks(int size,
                                         const std::function<std::string(int rank, const whilst_group*)>& work) {
  std::vector<whilst_group*> groups(static_cast<std::size_t>(size));
  require_ok(whilst_group_create_threads(size, groups.data()));
  std::vector<std::string> said(groups.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      said[at] = work(rank, groups[at]);
      whilst_group_destroy(&groups[at]);
    });
  for (std::thread& one : threads) one.join();
  return said;
}

inline std::string error_of(whilst_status status) { return status == WHILST_OK ? "" : whilst_last_error(); }

}  // namespace whilst_test
