#include "whilst/group/group.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "whilst/basics/error.hpp"

namespace whilst {

namespace {

enum class share_of_call : std::int32_t {
  made,
  failed,  // while it was made: all learn of it in the same call
  left,    // group::fail
};

/// What each rank sends ahead in every call. Equal in size, so that calls that differ meet, too.
struct call_header {
  std::int64_t bytes = 0;  ///< that follow; of a rank that failed, those of its message
  std::int32_t element_bytes = 0;
  share_of_call share = share_of_call::made;
  char call[112] = {};  ///< ends with 0

  bool calls_as(const call_header& other) const {
    return element_bytes == other.element_bytes && std::strcmp(call, other.call) == 0;
  }
  std::string words() const {
    return "\"" + std::string(call) + "\" with elements of " + std::to_string(element_bytes) + " bytes";
  }
};

std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& problem) {
    return problem.what();
  } catch (...) {
    return "an exception that has no message";
  }
}

/// For a rank that fails: all get messages then, and nobody what was asked for.
std::byte* no_room(std::size_t) { return nullptr; }

}  // namespace

struct group::state {
  int rank, size;
  gather_bytes gather;
  std::string broken;  ///< why, or empty

  /// Gathers; an error of the callback breaks the group, since nobody knows who got what. Returns where each rank's
  /// bytes begin.
  std::vector<std::size_t> gather_sized(std::span<const std::byte> mine, std::span<const std::size_t> sizes,
                                        const make_room& room) {
    std::vector<std::size_t> first{0};
    for (const std::size_t bytes : sizes) first.push_back(first.back() + bytes);
    try {
      gather(mine, sizes, {room(first.back()), first.back()});
    } catch (...) {
      broken = message_of(std::current_exception());
      throw;
    }
    return first;
  }
  std::vector<call_header> gather_headers(const call_header& mine) {
    std::vector<call_header> headers(static_cast<std::size_t>(size));
    const std::vector<std::size_t> sizes(headers.size(), sizeof(call_header));
    gather_sized(std::as_bytes(std::span(&mine, 1)), sizes,
                 [&](std::size_t) { return std::as_writable_bytes(std::span(headers)).data(); });
    return headers;
  }
  std::vector<std::size_t> exchange(const call_header& mine, std::span<const std::byte> bytes, const make_room& room);
};

std::vector<std::size_t> group::state::exchange(const call_header& mine, std::span<const std::byte> bytes,
                                                const make_room& room) {
  const std::vector<call_header> headers = gather_headers(mine);
  const auto failed = [](const call_header& one) { return one.share != share_of_call::made; };
  const auto first_failed = std::find_if(headers.begin(), headers.end(), failed);
  const bool all_made = first_failed == headers.end();
  if (all_made) {
    for (std::size_t q = 1; q < headers.size(); ++q) {
      if (headers[q].calls_as(headers[0])) continue;
      broken = "rank 0 called " + headers[0].words() + ", rank " + std::to_string(q) + " " + headers[q].words();
      throw error(mine.call, broken, "Make the same collective calls in the same order on all ranks");
    }
  }
  // Either everybody's share or the messages of those that failed.
  std::vector<std::size_t> sizes;
  for (const call_header& one : headers)
    sizes.push_back(all_made || failed(one) ? static_cast<std::size_t>(one.bytes) : 0);
  if (all_made) return gather_sized(bytes, sizes, room);

  arrays_of_ranks<char> messages;
  messages.first = gather_sized(failed(mine) ? bytes : std::span<const std::byte>(), sizes, [&](std::size_t all) {
    messages.all.resize(all);
    return std::as_writable_bytes(std::span(messages.all)).data();
  });
  const auto who = static_cast<int>(first_failed - headers.begin());
  const std::span<const char> message = messages.of(who);
  const std::string problem = "rank " + std::to_string(who) + " failed: " + std::string(message.begin(), message.end());
  const auto left = [](const call_header& one) { return one.share == share_of_call::left; };
  if (std::any_of(headers.begin(), headers.end(), left)) broken = problem;
  throw error(mine.call, problem);
}

group::group(int rank, int size, gather_bytes gather) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw error("making a group of " + std::to_string(size) + " ranks", "there is no rank " + std::to_string(rank),
                "Count ranks from 0 to the group's size");
  }
  if (!gather) throw error("making a group", "the callback is empty", "Give one that gathers bytes");
  state_.reset(new state{rank, size, std::move(gather), {}});
}

int group::rank() const { return state_ ? state_->rank : 0; }
int group::size() const { return state_ ? state_->size : 1; }

std::vector<std::size_t> group::exchange(std::string_view call, std::size_t element_bytes,
                                         std::span<const std::byte> mine, const std::exception_ptr& failure,
                                         const make_room& room) const {
  if (failure && (!state_ || !state_->broken.empty())) std::rethrow_exception(failure);
  if (!state_) {
    std::copy(mine.begin(), mine.end(), room(mine.size()));
    return {0, mine.size()};
  }
  if (!state_->broken.empty())
    throw error(call, "the group is broken: " + state_->broken, "Make a new group on all ranks");

  call_header header;
  header.element_bytes = static_cast<std::int32_t>(element_bytes);
  call.copy(header.call, sizeof(header.call) - 1);
  if (!failure) {
    header.bytes = static_cast<std::int64_t>(mine.size());
    return state_->exchange(header, mine, room);
  }
  const std::string message = message_of(failure);
  header.bytes = static_cast<std::int64_t>(message.size());
  header.share = share_of_call::failed;
  try {
    state_->exchange(header, std::as_bytes(std::span(message)), no_room);
  } catch (...) {  // this rank's own error says more
  }
  std::rethrow_exception(failure);
}

void group::barrier(std::string_view call) const { (void)all_gather(call, std::span<const std::byte>()); }

void group::fail(std::string_view message) const noexcept {
  if (!state_ || !state_->broken.empty()) return;
  try {
    call_header header;
    header.bytes = static_cast<std::int64_t>(message.size());
    header.share = share_of_call::left;
    state_->exchange(header, std::as_bytes(std::span(message)), no_room);
  } catch (...) {  // this is how it ends
  }
}

}  // namespace whilst
