#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "whilst/basics/held.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst {

/// What a program_cache may hold. Recordings on lease count and cannot be dropped, so too many simultaneous leases
/// exceed the limits until they end.
struct cache_limits {
  /// Recordings, of all kinds together; 0 keeps none.
  index_type programs = 32;
  /// Bytes of memory they hold, over all places, as linear_solver::bytes() counts them.
  index_type bytes = index_type{4} << 30;
};

/// What a program_cache has done and holds. hits + records is the number of leases so far.
struct cache_counters {
  index_type hits = 0;       ///< leases that found a recording
  index_type records = 0;    ///< leases that had to record one
  index_type evictions = 0;  ///< recordings dropped to keep the limits, or when a GPU's memory ran out
  index_type programs = 0;   ///< recordings now, including those on lease
  index_type on_lease = 0;   ///< how many of these are on lease
  index_type bytes = 0;      ///< held by these recordings
};

namespace detail {

/// What a recording can be reused for; compared with ==, which may take as long as reading all of it.
struct cache_key {
  virtual ~cache_key() = default;
  virtual bool equals(const cache_key& other) const = 0;
  virtual std::string in_words() const = 0;
};
/// Held is part of the key, so that what it finds has the expected type.
template <class Key, class Held>
struct key_for final : cache_key {
  Key key;
  explicit key_for(Key k) : key(std::move(k)) {}
  bool equals(const cache_key& other) const override {
    const auto* of_same_kind = dynamic_cast<const key_for*>(&other);
    return of_same_kind && of_same_kind->key == key;
  }
  std::string in_words() const override { return key.in_words(); }
};

/// A recording, whatever its type.
struct cached {
  virtual ~cached() = default;
  virtual index_type bytes() const = 0;
  virtual bool is_lost() const = 0;
};
template <class Held>
struct cached_as final : cached {
  Held held;
  template <class Make>
  explicit cached_as(const Make& make) : held(make()) {}
  index_type bytes() const override { return held.bytes(); }
  bool is_lost() const override {
    if constexpr (requires { held.is_lost(); }) return held.is_lost();
    return false;
  }
};

/// The recordings of a cache, with the rules for lending and evicting them.
class program_pool;
struct recording;
struct give_back {
  std::shared_ptr<program_pool> pool;
  void operator()(recording* lent) const noexcept;
};
using loan = std::unique_ptr<recording, give_back>;
using make_cached = std::function<std::unique_ptr<cached>()>;

loan lend(const std::shared_ptr<program_pool>& pool, std::shared_ptr<const cache_key> key, const make_cached& make);
cached& content_of(const loan& lent);

}  // namespace detail

/// Exclusive use of a recording from a program_cache; the destructor returns it. Keep the lease until enqueued solves
/// are done and their tickets have been read, and as long as graphs live that captured one: afterwards the recording is
/// someone else's, or gone. May outlive the cache.
template <class Held>
class lease {
 public:
  Held& operator*() const { return *operator->(); }
  Held* operator->() const {
    if (!lent_) detail::refuse_moved_from("lease");
    return held_;
  }

 private:
  friend class program_cache;
  explicit lease(detail::loan lent)
      : lent_(std::move(lent)), held_(&static_cast<detail::cached_as<Held>&>(detail::content_of(lent_)).held) {}
  detail::loan lent_;
  Held* held_;
};

}  // namespace whilst
