#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>

#include "whilst/group/group.hpp"

namespace whilst_test {

/// Memory by which processes that are forked after it is made are a group: without MPI, whose launcher ends all
/// processes when one dies.
class processes_in_memory {
 public:
  processes_in_memory() {
    void* const at = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no memory for processes to share");
    shared_ = new (at) shared;
  }
  ~processes_in_memory() { munmap(shared_, sizeof(shared)); }
  processes_in_memory(const processes_in_memory&) = delete;
  processes_in_memory& operator=(const processes_in_memory&) = delete;

  /// The group, for one of its processes.
  whilst::group of(int rank, int size) const {
    const auto gather = [this, rank, size](std::span<const std::byte> mine, std::span<const std::size_t> sizes,
                                           std::span<std::byte> all) {
      if (all.size() > sizeof(shared_->bytes)) throw std::runtime_error("too much for the memory that processes share");
      std::size_t first = 0;
      for (int q = 0; q < rank; ++q) first += sizes[static_cast<std::size_t>(q)];
      std::copy(mine.begin(), mine.end(), shared_->bytes + first);
      meet(size);
      std::copy_n(shared_->bytes, all.size(), all.begin());
      meet(size);
    };
    return whilst::group(rank, size, gather);
  }

 private:
  struct shared {
    std::atomic<int> arrived{0}, meetings{0};
    std::byte bytes[std::size_t{8} << 20];
  };
  void meet(int size) const {
    const int before = shared_->meetings.load();
    if (shared_->arrived.fetch_add(1) + 1 == size) {
      shared_->arrived = 0;
      ++shared_->meetings;
      return;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (shared_->meetings.load() == before) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("another process does not come");
      std::this_thread::yield();
    }
  }
  shared* shared_;
};

}  // namespace whilst_test
