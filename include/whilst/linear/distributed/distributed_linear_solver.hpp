#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// Solves A x = b on all ranks of a group, each with its rows and its entries of b and x: one loop on each rank's GPU,
/// which exchange sums and the entries that neighbours read while they run. No host takes part in an iteration. See
/// docs/several-gpus.md.
///
/// All ranks make the solver, and call solve or enqueue as often as the others, in the same order; one GPU a rank. They
/// take the same decisions in the same iteration: reports are alike but for times, whichever rank was cancelled or ran
/// out of time. A solve waits for other ranks for peer_limit_seconds; where one does not come it ends with reason
/// peer_lost, and this solver refuses to solve until recover() has been called on all ranks.
///
/// Methods "cg", "flexible-cg", "pipelined-cg", "minres", "bicgstab", "gmres" and "lsqr", preconditioners "none" and
/// "jacobi", executors "auto", "host", "stream" and "graph"; what else changes the matrix or its order is refused. "cg"
/// and "flexible-cg" also take "chebyshev", of the whole matrix; "ilu", "ic", "fsai", "spai", "block_jacobi", "ssor"
/// and "schwarz", which each rank makes from its own diagonal block, its rows by its own columns, and applies without
/// the others; and "amg" of the whole matrix, if its cycle and smoother are the default ones, its coarsening is not
/// "classical" and it is not for a system of equations, else within ranks, with a coarse space for all and smoothing
/// across their borders. Settings by row, as block_jacobi.offsets, are about the rank's rows.
template <class T>
class distributed_linear_solver final : public replayed_solver {
 public:
  /// Collective. Copies what it needs of A. Throws whilst::error on all ranks if options are out of range or differ
  /// between ranks where that would part them.
  explicit distributed_linear_solver(const distributed_csr_matrix<T>& A, linear_solver_options options = {},
                                     double peer_limit_seconds = 10);
  ~distributed_linear_solver() override;
  distributed_linear_solver(distributed_linear_solver&&) noexcept;
  distributed_linear_solver& operator=(distributed_linear_solver&&) noexcept;

  /// Solves with this rank's entries of b and x, in host memory; x holds the initial guess and receives the solution.
  /// Blocks until the group has the solution. By all ranks.
  report solve(std::span<const T> b, std::span<T> x);
  report solve(const std::vector<T>& b, std::vector<T>& x) { return solve(std::span<const T>(b), std::span<T>(x)); }
  /// Enqueues a solve on `stream` and returns without waiting; b and x are memory of the solver's place. By all ranks.
  /// It does not look whether a rank was lost before, which takes a copy from the GPU: ask lost_rank().
  ticket enqueue(stream_handle stream, const T* b, T* x);

  /// Takes the values of a matrix with the same pattern and partition; waits for solves in flight. Collective.
  void update_values(const distributed_csr_matrix<T>& A);
  /// The same for all later solves, on all ranks: tolerances that differ would part them.
  void set_tolerances(double rtol, double atol);

  /// What words between ranks travel by: "one rank", or one of transport_names().
  const std::string& transport() const;
  /// Which of them "auto" passed over for it, and why; empty if it took the first.
  const std::string& transports_passed_over() const;
  /// The rank that the last solve waited for in vain; -1 for none.
  int lost_rank() const;
  /// Makes the solver usable after a rank was lost that is there again. Collective, with no solve in flight. After a
  /// process has ended, make a new group and a new solver.
  void recover();

 private:
  prepared_program& prepared() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class distributed_linear_solver<float>;
extern template class distributed_linear_solver<double>;

}  // namespace whilst
