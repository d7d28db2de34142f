#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "whilst/host/lease.hpp"

namespace whilst::detail {

/// The entry of one key, as long as there are recordings for it.
struct cache_entry {
  std::shared_ptr<const cache_key> key;
  index_type hits = 0, recordings = 0, on_lease = 0, bytes = 0;
};

struct recording {
  std::shared_ptr<cache_entry> entry;
  std::unique_ptr<cached> content;
  index_type bytes = 0;  ///< as counted
  index_type age = 0;    ///< the number of resets when it was started
};

/// Recordings of any type and the rules for lending and evicting them. Nothing is made or destroyed under the lock,
/// since both may have to wait for a device.
class program_pool : public std::enable_shared_from_this<program_pool> {
 public:
  explicit program_pool(cache_limits limits);
  program_pool(const program_pool&) = delete;
  program_pool& operator=(const program_pool&) = delete;
  ~program_pool();

  loan lend(std::shared_ptr<const cache_key> key, const make_cached& make);
  void take_back(std::unique_ptr<recording> lent) noexcept;

  cache_limits limits() const;
  void set_limits(cache_limits limits);
  cache_counters counters() const;
  std::string describe() const;
  void reset();

 private:
  using lock = std::unique_lock<std::mutex>;
  class all_pools;

  std::shared_ptr<cache_entry> entry_of(std::shared_ptr<const cache_key> key);
  std::unique_ptr<recording> idle_of(const cache_entry& entry);
  std::unique_ptr<cached> made_with_room(const make_cached& make);
  void count_bytes(recording& of);
  void forget(const recording& dropped);
  /// Evicts idle recordings, least recently used first, while `excess()`; destroys them without the lock.
  template <class Excess>
  void evict(lock& hold, Excess excess);
  void keep_limits(lock& hold);

  mutable std::mutex lock_;  ///< guards all below
  cache_limits limits_;
  cache_counters counts_;
  index_type resets_ = 0;
  std::vector<std::shared_ptr<cache_entry>> entries_;
  std::vector<std::unique_ptr<recording>> idle_;  ///< least recently used first
};

}  // namespace whilst::detail
