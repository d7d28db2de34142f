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
