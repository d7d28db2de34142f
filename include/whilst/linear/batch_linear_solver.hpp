#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/host/batch_report.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// Solves many small systems A_k x_k = b_k at once, where the A_k share one pattern but have their own values.
/// Depending on the number of rows, a few threads of a warp, a warp or a block run the whole loop of a system inside
/// one kernel, and each system stops when it is done, with its own reason. On the host, threads share the systems, and
/// every system yields the same bits for any number of threads.
///
/// The systems are consecutive in memory: values holds `systems` times the pattern's nonzeros, in the pattern's order;
/// b and x hold `systems` times its rows. x may be b; other overlaps of x, with b or with the values, throw
/// whilst::error. Limits, deadline, cancel and the rest: see recorded_solver. A cancel and a deadline reach every
/// system of a batch. There is no progress and no monitor: nobody outside the kernel sees how far a system is.
template <class T>
class batch_linear_solver : public recorded_solver {
 public:
  /// Copies the pattern (its values are not used) to its place, allocates memory for `systems` systems and records the
  /// loop.
  ///
  /// The options method, preconditioner, tolerances, max_iterations and device mean the same as for one system; the
  /// deadline applies to the batch, from when its first system starts. executor may be "auto" (a GPU if there is one;
  /// WHILST_EXECUTOR=host counts too, its other executors are for single systems), "batch" (likewise) or "host" (the
  /// CPU). unroll, programmatic_launch and history_capacity have no effect here: loops inside a kernel have no trips,
  /// and no history is kept.
  ///
  /// Throws whilst::error on a pattern that is not square, fewer than one system, an unknown method or preconditioner,
  /// or an executor that is not for batches.
  batch_linear_solver(const csr_matrix<T>& pattern, index_type systems, linear_solver_options options = {});
  ~batch_linear_solver() override;
  batch_linear_solver(batch_linear_solver&&) noexcept;
  batch_linear_solver& operator=(batch_linear_solver&&) noexcept;

  /// Solves with values, b and x in host memory; x holds the initial guesses and receives the solutions. Blocks. On a
  /// GPU the first call allocates device memory for all three.
  batch_report solve(std::span<const T> values, std::span<const T> b, std::span<T> x);
  batch_report solve(const std::vector<T>& values, const std::vector<T>& b, std::vector<T>& x) {
    return solve(std::span<const T>(values), std::span<const T>(b), std::span<T>(x));
  }

  /// Enqueues a solve on `stream` and returns without waiting: values, b and x are device pointers (host pointers where
  /// the solver runs on the host, and then the solve has completed when this returns) that must stay valid until the
  /// solve is done; x holds the initial guesses. No synchronisation, and no allocation unless you keep tickets for more
  /// than four solves: outcomes stay in device memory, with room for each ticket that still refers to them, until
  /// wait() copies them. If `stream` is being captured, the batch becomes part of that graph, with these pointers; the
  /// solver must outlive it. Throws whilst::error on pointers that linear_solver::enqueue would refuse.
  batch_ticket enqueue(stream_handle stream, const T* values, const T* b, T* x);

  void set_tolerances(double rtol, double atol);

  /// The number of systems.
  index_type systems() const;
  /// Name of the device or processor that solves.
  const std::string& device() const;

 private:
  prepared_program& prepared() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class batch_linear_solver<float>;
extern template class batch_linear_solver<double>;

}  // namespace whilst
