#include "solvers/host/program_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace whilst::detail {

/// Makes fork wait for the locks of the pools. Otherwise a lock held by another thread of the parent would stay locked
/// forever in the child.
class program_pool::all_pools {
 public:
  static all_pools& get() {
    static auto& pools = *new all_pools;  // threads may outlive static objects
    return pools;
  }
  void add(program_pool* pool) {
    const std::lock_guard hold(lock_);
    pools_.push_back(pool);
  }
  void remove(program_pool* pool) {
    const std::lock_guard hold(lock_);
    std::erase(pools_, pool);
  }

 private:
  all_pools() {
    pthread_atfork([] { get().lock(); }, [] { get().unlock(); }, [] { get().unlock(); });
  }
  void lock() {
    lock_.lock();
    for (program_pool* pool : pools_) pool->lock_.lock();
  }
  void unlock() {
    for (program_pool* pool : pools_) pool->lock_.unlock();
    lock_.unlock();
  }

  std::mutex lock_;
  std::vector<program_pool*> pools_;
};

program_pool::program_pool(cache_limits limits) : limits_(limits) { all_pools::get().add(this); }
program_pool::~program_pool() { all_pools::get().remove(this); }

loan program_pool::lend(std::shared_ptr<const cache_key> key, const make_cached& make) {
  lock hold(lock_);
  auto lent = std::make_unique<recording>();
  lent->entry = entry_of(std::move(key));
  cache_entry& entry = *lent->entry;
  if (std::unique_ptr<recording> kept = idle_of(entry)) {
    if (kept->content->is_lost()) {
      idle_.push_back(std::move(kept));
      throw error("using a recorded program again",
                  "the CUDA context that it was recorded in was destroyed, as by cudaDeviceReset(), and all of its "
                  "memory with it",
                  "Call whilst::reset(), or reset() of the cache if it is your own, and solve again");
    }
    ++counts_.hits, ++entry.hits;
    ++counts_.on_lease, ++entry.on_lease;
    return {kept.release(), {shared_from_this()}};
  }
  // Counted from here on, so that others leave room for it, and take_back finds room.
  lent->age = resets_;
  ++counts_.programs, ++entry.recordings;
  ++counts_.on_lease, ++entry.on_lease;
  try {
    idle_.reserve(static_cast<std::size_t>(counts_.programs));
    keep_limits(hold);
    hold.unlock();
    lent->content = made_with_room(make);
    hold.lock();
  } catch (...) {
    if (!hold.owns_lock()) hold.lock();
    --counts_.on_lease, --entry.on_lease;
    forget(*lent);
    hold.unlock();  // the rest of the entry is destroyed now, perhaps with its key
    throw;
  }
  ++counts_.records;
  count_bytes(*lent);
  loan made(lent.release(), {shared_from_this()});
  keep_limits(hold);
  return made;
}

/// If a device is out of memory, evicts all idle recordings and tries again.
std::unique_ptr<cached> program_pool::made_with_room(const make_cached& make) {
  try {
    return make();
  } catch (const out_of_memory&) {
    lock hold(lock_);
    if (idle_.empty()) throw;
    evict(hold, [left = idle_.size()]() mutable { return left-- > 0; });
  }
  return make();
}

void program_pool::take_back(std::unique_ptr<recording> lent) noexcept {
  lock hold(lock_);
  --counts_.on_lease, --lent->entry->on_lease;
  if (lent->age != resets_) {
    forget(*lent);
    hold.unlock();
    return;
  }
  count_bytes(*lent);
  if (lent->bytes > limits_.bytes) {  // cannot stay: evict nothing else for it
    forget(*lent);
    ++counts_.evictions;
    hold.unlock();
    return;
  }
  idle_.push_back(std::move(lent));  // there is room: see lend
  keep_limits(hold);
}

/// Compares keys with the lock held. Comparing patterns costs a fraction of building the matrix, and nothing if both
/// share their arrays.
std::shared_ptr<cache_entry> program_pool::entry_of(std::shared_ptr<const cache_key> key) {
  for (const auto& entry : entries_)
    if (entry->key->equals(*key)) return entry;
  entries_.push_back(std::make_shared<cache_entry>(cache_entry{.key = std::move(key)}));
  return entries_.back();
}

/// If there are several, the one used last.
std::unique_ptr<recording> program_pool::idle_of(const cache_entry& entry) {
  const auto found =
      std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& one) { return one->entry.get() == &entry; });
  if (found == idle_.rend()) return nullptr;
  std::unique_ptr<recording> taken = std::move(*found);
  idle_.erase(std::next(found).base());
  return taken;
}

void program_pool::count_bytes(recording& of) {
  const index_type more = of.content->bytes() - of.bytes;
  of.bytes += more, of.entry->bytes += more, counts_.bytes += more;
}

void program_pool::forget(const recording& dropped) {
  cache_entry& entry = *dropped.entry;
  --counts_.programs, --entry.recordings;
  counts_.bytes -= dropped.bytes, entry.bytes -= dropped.bytes;
  if (entry.recordings == 0) std::erase(entries_, dropped.entry);
}

template <class Excess>
void program_pool::evict(lock& hold, Excess excess) {
  while (!idle_.empty() && excess()) {
    std::unique_ptr<recording> oldest = std::move(idle_.front());
    idle_.erase(idle_.begin());
    forget(*oldest);
    ++counts_.evictions;
    hold.unlock();
    oldest.reset();
    hold.lock();
  }
}
void program_pool::keep_limits(lock& hold) {
  evict(hold, [this] { return counts_.programs > limits_.programs || counts_.bytes > limits_.bytes; });
}

cache_limits program_pool::limits() const {
  const std::lock_guard hold(lock_);
  return limits_;
}

void program_pool::set_limits(cache_limits limits) {
  if (limits.programs < 0 || limits.bytes < 0)
    throw error("setting the limits of a program cache", "a limit is negative", "Use 0 or more; 0 keeps nothing");
  lock hold(lock_);
  limits_ = limits;
  keep_limits(hold);
}

cache_counters program_pool::counters() const {
  const std::lock_guard hold(lock_);
  return counts_;
}

void program_pool::reset() {
  lock hold(lock_);
  ++resets_;
  std::vector<std::unique_ptr<recording>> dropped = std::move(idle_);
  idle_.clear();
  for (const auto& one : dropped) forget(*one);
  // Recordings on lease are dropped on return; a new one for the same key starts a new entry.
  entries_.clear();
  hold.unlock();
}

std::string program_pool::describe() const {
  const std::lock_guard hold(lock_);
  std::ostringstream text;
  text << "program cache: " << counts_.programs << " of at most " << limits_.programs << " programs, " << counts_.bytes
       << " of at most " << limits_.bytes << " bytes; " << counts_.hits << " hits, " << counts_.records << " records, "
       << counts_.evictions << " evictions\n";
  if (entries_.empty()) return text.str();
  const auto line = [&](const auto& programs, const auto& on_lease, const auto& bytes, const auto& hits,
                        const std::string& key) {
    text << std::setw(8) << programs << "  " << std::setw(8) << on_lease << "  " << std::setw(12) << bytes << "  "
         << std::setw(8) << hits << "  " << key << "\n";
  };
  line("programs", "on lease", "bytes", "hits", "for");
  for (const auto& entry : entries_)
    line(entry->recordings, entry->on_lease, entry->bytes, entry->hits, entry->key->in_words());
  return text.str();
}

void give_back::operator()(recording* lent) const noexcept { pool->take_back(std::unique_ptr<recording>(lent)); }

loan lend(const std::shared_ptr<program_pool>& pool, std::shared_ptr<const cache_key> key, const make_cached& make) {
  return pool->lend(std::move(key), make);
}

cached& content_of(const loan& lent) { return *lent->content; }

}  // namespace whilst::detail
