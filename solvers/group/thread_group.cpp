#include "whilst/group/thread_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "whilst/basics/error.hpp"

namespace whilst {

namespace {

/// Where the threads of a group meet.
class thread_meeting {
 public:
  explicit thread_meeting(int size) : given_(static_cast<std::size_t>(size)) {}

  void gather(std::size_t rank, std::span<const std::byte> mine, std::span<std::byte> all) {
    given_[rank] = mine;  // nobody else's entry, and nobody reads before all have met
    meet();
    // Until they meet again nobody leaves or writes: what the others gave can be read without the lock.
    for (const std::span<const std::byte> piece : given_) {
      std::copy(piece.begin(), piece.end(), all.begin());
      all = all.subspan(piece.size());
    }
    meet();
  }
  void leave(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    if (!first_to_leave_) first_to_leave_ = rank;  // others leave because this one has
    all_are_here_.notify_all();
  }

 private:
  /// Returns when all ranks are here.
  void meet() {
    std::unique_lock lock(mutex_);
    const long long meeting = meetings_;
    if (++here_ == given_.size()) {
      here_ = 0;
      ++meetings_;
      all_are_here_.notify_all();
      return;
    }
    all_are_here_.wait(lock, [&] { return meetings_ != meeting || first_to_leave_; });
    if (meetings_ != meeting) return;
    throw error("waiting for the other threads of a group", "rank " + std::to_string(*first_to_leave_) + " has left it",
                "Make all collective calls on all ranks, and keep the group until then");
  }

  std::mutex mutex_;
  std::condition_variable all_are_here_;
  std::vector<std::span<const std::byte>> given_;
  std::optional<std::size_t> first_to_leave_;
  std::size_t here_ = 0;
  long long meetings_ = 0;
};

/// A thread's place in the meeting, left with the last copy of its group.
class thread_seat {
 public:
  thread_seat(std::shared_ptr<thread_meeting> meeting, std::size_t rank) : meeting_(std::move(meeting)), rank_(rank) {}
  thread_seat(const thread_seat&) = delete;
  thread_seat& operator=(const thread_seat&) = delete;
  ~thread_seat() { meeting_->leave(rank_); }
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) const { meeting_->gather(rank_, mine, all); }

 private:
  std::shared_ptr<thread_meeting> meeting_;
  std::size_t rank_;
};

}  // namespace

std::vector<group> make_thread_groups(int size) {
  if (size < 1)
    throw error("making groups of threads", "the size is " + std::to_string(size), "Give a size of at least 1");
  const auto meeting = std::make_shared<thread_meeting>(size);
  std::vector<group> groups;
  for (int rank = 0; rank < size; ++rank) {
    const auto seat = std::make_shared<thread_seat>(meeting, static_cast<std::size_t>(rank));
    groups.emplace_back(
        rank, size, [seat](std::span<const std::byte> mine, std::span<const std::size_t>, std::span<std::byte> all) {
          seat->gather(mine, all);
        });
  }
  return groups;
}

}  // namespace whilst
