#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "whilst/group/thread_group.hpp"

namespace whilst_test {

/// Calls work(group) on so many threads at once, the ranks of a group. Returns what each threw: its message, or an
/// empty one. Work must not use Catch2, which one thread at a time may.
inline std::vector<std::string> on_ranks(int size, const std::function<void(const whilst::group&)>& work) {
  std::vector<std::string> thrown(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (whilst::group& one : whilst::make_thread_groups(size)) {
    threads.emplace_back([&work, &thrown, own = std::move(one)]() mutable {
      const whilst::group ranks = std::move(own);  // ends with the work
      const auto rank = static_cast<std::size_t>(ranks.rank());
      try {
        work(ranks);
      } catch (const std::exception& problem) {
        thrown[rank] = problem.what();
      } catch (...) {
        thrown[rank] = "not a std::exception";
      }
    });
  }
  for (std::thread& one : threads) one.join();
  return thrown;
}

/// As the calls above return it where no rank throws.
inline std::vector<std::string> nothing(int size) { return std::vector<std::string>(static_cast<std::size_t>(size)); }

}  // namespace whilst_test
