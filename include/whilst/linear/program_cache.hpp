#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "whilst/basics/held.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// What a program_cache may hold. Recordings that are out on lease count and cannot be dropped, so that more leases at
/// once than this allows exceed it until they end.
struct cache_limits {
  /// Recordings, of all kinds together; 0 keeps none.
  index_type programs = 32;
  /// Bytes of memory that they hold, of all places together, as linear_solver::bytes() counts them.
  index_type bytes = index_type{4} << 30;
};

/// What a program_cache did and holds. hits + records is the number of leases so far.
struct cache_counters {
  index_type hits = 0;       ///< leases of a recording that was there
  index_type records = 0;    ///< leases for which one had to be recorded
  index_type evictions = 0;  ///< recordings dropped to keep the limits, or when a GPU's memory ran out
  index_type programs = 0;   ///< recordings now, those on lease included
  index_type on_lease = 0;   ///< of these
  index_type bytes = 0;      ///< that they hold
};

namespace detail {

/// What a recording can be used for again; compared with ==, which may take as long as reading it all.
struct cache_key {
  virtual ~cache_key() = default;
  virtual bool equals(const cache_key& other) const = 0;
  virtual std::string in_words() const = 0;
};
/// Held is part of it, so that what is found under a key is of the type that is expected there.
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

/// The recordings of a cache, with the rules by which they are lent and dropped.
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

/// A recording out of a program_cache, nobody else's until the lease ends: it goes back then, also by an exception.
/// Solves that were enqueued need it until they are done, their tickets until they have told, and graphs that have
/// captured one as long as they live: the recording is somebody else's afterwards, or gone. May outlive the cache.
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

/// Recorded solvers, kept to be used again, since recording one costs more than a small solve. For whom a linear_solver
/// of their own is too much to look after: the problem is given anew each time, and what was recorded for one like it
/// is found. May be used from any number of threads at once.
///
/// A linear solver is found again by the scalar type, the method, the preconditioner, the executor, the device, the
/// other options that change what is recorded, and the matrix's pattern, all compared in full: by address where arrays
/// are shared, else entry by entry. Values, right-hand sides, tolerances, the limit and the deadline are told to the
/// recording and record nothing anew.
///
/// Where all recordings of a kind are on lease, another is made: nobody waits for anybody, so threads that hold one
/// lease and ask for a second cannot block each other. When a lease ends, the least recently used recordings that are
/// not on lease are dropped until the limits are kept.
class program_cache {
 public:
  explicit program_cache(cache_limits limits = {});
  ~program_cache();
  program_cache(const program_cache&) = delete;
  program_cache& operator=(const program_cache&) = delete;

  /// A solver for A with these options, with A's values and the options' tolerances in place. Uploads A's values unless
  /// the solver got them from the same csr_matrix, or a copy of it, last time. Matrices in host memory are kept alive,
  /// the first with the pattern and the last, and those that borrow it (csr_matrix::borrow) are copied at each call;
  /// those in device memory are borrowed for as long as the lease. Throws
  /// whilst::error as the constructor of linear_solver does, and where the recording was lost with a CUDA context that
  /// has been destroyed: then reset() helps.
  template <class T>
  lease<linear_solver<T>> borrow(const csr_matrix<T>& A, const linear_solver_options& options = {});

  /// Solves A x = b as linear_solver::solve does, with a solver borrowed meanwhile. The report's setup_seconds are
  /// those of when it was recorded.
  template <class T>
  report solve(const csr_matrix<T>& A, std::type_identity_t<std::span<const T>> b, std::type_identity_t<std::span<T>> x,
               const linear_solver_options& options = {}) {
    return borrow(A, options)->solve(b, x);
  }

  /// For what else is expensive to make. `make` returns it, and is called where there is none for an equal key or all
  /// are on lease; without a lock, so from several threads at once. The key is a value with == that holds all that the
  /// thing depends on, and has `std::string in_words() const` for describe(); the thing has `index_type bytes() const`,
  /// and, if it can become useless, `bool is_lost() const`. These four throw nothing and do not use the cache, which
  /// calls them under its lock.
  template <class Key, std::invocable Make>
  auto borrow(const Key& key, const Make& make) {
    using held_type = std::invoke_result_t<const Make&>;
    return lease<held_type>(detail::lend(pool_, std::make_shared<detail::key_for<Key, held_type>>(key),
                                         [&] { return std::make_unique<detail::cached_as<held_type>>(make); }));
  }

  cache_limits limits() const;
  /// Drops, at once, what exceeds the new limits and is not on lease.
  void set_limits(cache_limits limits);

  cache_counters counters() const;
  /// The counters and a table for a person: a line for each key, the recordings kept for it, how many of them are on
  /// lease, their bytes, the hits and the key in words.
  std::string describe() const;

  /// Drops every recording and the memory of it; those on lease when the lease ends. Counts go on.
  void reset();

 private:
  std::shared_ptr<detail::program_pool> pool_;
};

/// @cond  Doxygen takes these for members that are missing.
extern template lease<linear_solver<float>> program_cache::borrow(const csr_matrix<float>&,
                                                                  const linear_solver_options&);
extern template lease<linear_solver<double>> program_cache::borrow(const csr_matrix<double>&,
                                                                   const linear_solver_options&);
/// @endcond

/// The cache of whilst::solve, one for the process. It is never destroyed, since CUDA may be gone before: whoever wants
/// the memory back calls reset().
program_cache& default_cache();

/// Drops every recording that whilst::solve keeps, and its memory. To be called after a CUDA context was destroyed, as
/// by cudaDeviceReset(), before the next whilst::solve.
void reset();

/// Solves A x = b once, without a solver to look after: what is recorded for it is kept in default_cache() for the next
/// problem with the same pattern and options. b and x as for linear_solver::solve. From any thread.
template <class T>
report solve(const csr_matrix<T>& A, std::type_identity_t<std::span<const T>> b, std::type_identity_t<std::span<T>> x,
             const linear_solver_options& options = {}) {
  return default_cache().solve(A, b, x, options);
}

}  // namespace whilst
