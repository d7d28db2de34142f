#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace whilst {

/// What all ranks gave, in the order of ranks.
template <class T>
struct arrays_of_ranks {
  std::vector<T> all;
  std::vector<std::size_t> first;  ///< one more than ranks: rank q gave entries first[q] .. first[q + 1] of `all`

  std::span<const T> of(int rank) const {
    const auto q = static_cast<std::size_t>(rank);
    return std::span<const T>(all).subspan(first[q], first[q + 1] - first[q]);
  }
};

/// Processes or threads that solve together, the *ranks*: 0 to size() - 1. A group is for set-up on the host; what
/// ranks exchange while a loop runs goes from GPU to GPU. Made by mpi_group, by make_thread_groups, or from a callback.
///
/// The functions that say "collective" are called by all ranks in the same order, and each returns when all have called
/// it. They name the call. A rank that calls something else, that fails or that has left makes them throw whilst::error
/// on every rank, so that none waits for ever:
///
/// - What a rank throws while it makes its share of a collective call, all learn. That rank throws it; the others throw
///   a whilst::error that names the lowest such rank and has its message. The group stays usable.
/// - After calls that differ, after fail(), and after an error of the callback the group is *broken*: each later call
///   throws at once.
///
/// Copies share one seat in the group. One thread at a time may use a rank's copies.
class group {
 public:
  /// Gives every rank the bytes of all: `mine` are this rank's, sizes[q] those of rank q, and `all` has room for them
  /// in the order of ranks. It may throw; the ranks that still wait must then throw, too.
  using gather_bytes = std::function<void(std::span<const std::byte> mine, std::span<const std::size_t> sizes,
                                          std::span<std::byte> all)>;

  /// A group of one rank, which never waits.
  group() = default;
  /// A group whose bytes travel by `gather`. Throws whilst::error unless 0 <= rank < size.
  group(int rank, int size, gather_bytes gather);

  int rank() const;
  int size() const;

  /// Everybody's arrays, which may have different lengths. Collective; all with one size of T. `call` says in a few
  /// words what is being done, the same on all ranks, of which 111 characters count: errors have it.
  template <class T>
  arrays_of_ranks<T> all_gather(std::string_view call, std::span<const T> mine) const {
    return gathered(call, mine, nullptr);
  }
  /// The same with what make() returns, an array of T. If it throws on any rank, all ranks throw.
  template <class T, class Make>
  requires std::is_invocable_v<Make> arrays_of_ranks<T> all_gather(std::string_view call, Make&& make)
  const {
    std::vector<T> mine;
    std::exception_ptr failure;
    try {
      mine = make();
    } catch (...) {
      failure = std::current_exception();
    }
    return gathered(call, std::span<const T>(mine), failure);
  }
  /// Calls work() on each rank, and returns if all have done it. If it throws on any rank, all ranks throw. Collective.
  template <class Work>
  void agree(std::string_view call, Work&& work) const {
    (void)all_gather<std::byte>(call, [&] {
      work();
      return std::vector<std::byte>();
    });
  }
  /// Returns when all ranks have called it. Collective.
  void barrier(std::string_view call = "waiting at a barrier") const;

  /// Says that this rank gives up, and why: for the handler of an exception that the other ranks know nothing of. Their
  /// next call throws, and the group is broken. Returns when they have made that call or left; with MPI, whose ranks
  /// cannot leave, only the former. Throws nothing.
  void fail(std::string_view message) const noexcept;

 private:
  struct state;
  /// Memory for so many bytes.
  using make_room = std::function<std::byte*(std::size_t bytes)>;
  /// Gathers the bytes of all ranks, for which it asks room once; returns where each rank's begin. Throws on every rank
  /// if failure is not null on one.
  std::vector<std::size_t> exchange(std::string_view call, std::size_t element_bytes, std::span<const std::byte> mine,
                                    const std::exception_ptr& failure, const make_room& room) const;
  template <class T>
  arrays_of_ranks<T> gathered(std::string_view call, std::span<const T> mine, const std::exception_ptr& failure) const;

  std::shared_ptr<state> state_;  // null: one rank
};

template <class T>
arrays_of_ranks<T> group::gathered(std::string_view call, std::span<const T> mine,
                                   const std::exception_ptr& failure) const {
  static_assert(std::is_trivially_copyable_v<T>);
  arrays_of_ranks<T> made;
  made.first = exchange(call, sizeof(T), std::as_bytes(mine), failure, [&](std::size_t bytes) {
    made.all.resize(bytes / sizeof(T));
    return std::as_writable_bytes(std::span<T>(made.all)).data();
  });
  for (std::size_t& first : made.first) first /= sizeof(T);
  return made;
}

}  // namespace whilst
