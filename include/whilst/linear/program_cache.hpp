#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "whilst/host/lease.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// Keeps recorded solvers for reuse, since recording one costs more than a small solve. If you don't want to manage a
/// linear_solver, pass the problem each time: the cache finds what was recorded for one like it. Any number of threads
/// may use it at once.
///
/// A linear solver is found by the scalar type, the method, the preconditioner, the executor, the device, the other
/// options that change what is recorded, and the matrix's pattern, all compared in full: by address if arrays are
/// shared, else entry by entry. Values, right-hand sides, tolerances, the limit and the deadline are passed to the
/// existing recording.
///
/// If all recordings of a kind are on lease, another is made: no thread waits for another, so threads that hold one
/// lease and ask for a second cannot deadlock. When a lease ends, the least recently used recordings that are not on
/// lease are evicted until the limits are met.
class program_cache {
 public:
  explicit program_cache(cache_limits limits = {});
  ~program_cache();
  program_cache(const program_cache&) = delete;
  program_cache& operator=(const program_cache&) = delete;

  /// A solver for A with these options, with A's values and the options' tolerances in place. Uploads A's values unless
  /// the solver got them from the same csr_matrix, or a copy of it, last time. Of the matrices in host memory, the
  /// first with the pattern and the last are kept alive, and those that borrow it (csr_matrix::borrow) are copied at
  /// each call; those in device memory are borrowed for the duration of the lease. Throws whilst::error as the
  /// constructor of linear_solver does, and if the recording was lost with a destroyed CUDA context: call reset() then.
  template <class T>
  lease<linear_solver<T>> borrow(const csr_matrix<T>& A, const linear_solver_options& options = {});

  /// Solves A x = b as linear_solver::solve does, with a borrowed solver. The report's setup_seconds are those of its
  /// recording.
  template <class T>
  report solve(const csr_matrix<T>& A, std::type_identity_t<std::span<const T>> b, std::type_identity_t<std::span<T>> x,
               const linear_solver_options& options = {}) {
    return borrow(A, options)->solve(b, x);
  }

  /// For anything else that is expensive to make. `make` returns it, and is called if there is none for an equal key or
  /// all are on lease; without a lock, so possibly from several threads at once. The key is a value with == that holds
  /// all that the object depends on, and has `std::string in_words() const` for describe(); the object has `index_type
  /// bytes() const` and, if it can become useless, `bool is_lost() const`. These four must not throw or use the cache,
  /// which calls them under its lock.
  template <class Key, std::invocable Make>
  auto borrow(const Key& key, const Make& make) {
    using held_type = std::invoke_result_t<const Make&>;
    return lease<held_type>(detail::lend(pool_, std::make_shared<detail::key_for<Key, held_type>>(key),
                                         [&] { return std::make_unique<detail::cached_as<held_type>>(make); }));
  }

  cache_limits limits() const;
  /// Evicts at once what exceeds the new limits and is not on lease.
  void set_limits(cache_limits limits);

  cache_counters counters() const;
  /// The counters and a readable table, one line per key: the recordings kept for it, how many of them are on lease,
  /// their bytes, the hits and the key in words.
  std::string describe() const;

  /// Drops every recording and its memory; those on lease when the lease ends. Counters keep counting.
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

/// The cache of whilst::solve, one per process. It is never destroyed, since CUDA may shut down first: to free its
/// memory, call reset().
program_cache& default_cache();

/// Drops every recording that whilst::solve keeps, and its memory. Call it after a CUDA context was destroyed, for
/// example by cudaDeviceReset(), before the next whilst::solve.
void reset();

/// Solves A x = b once, without a solver to manage: default_cache() keeps the recording for the next problem with the
/// same pattern and options. b and x as for linear_solver::solve. Callable from any thread.
template <class T>
report solve(const csr_matrix<T>& A, std::type_identity_t<std::span<const T>> b, std::type_identity_t<std::span<T>> x,
             const linear_solver_options& options = {}) {
  return default_cache().solve(A, b, x, options);
}

}  // namespace whilst
