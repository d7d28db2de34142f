#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/engine/control/reason.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// How one system of a batch ended.
struct system_outcome {
  whilst::reason reason = whilst::reason::running;
  /// Completed updates of x, over all restarts.
  index_type iterations = 0;
  /// ||b - A x||_2, recomputed from x at the end.
  double residual_norm = 0;
  /// ||b||_2.
  double rhs_norm = 0;

  bool converged() const { return whilst::converged(reason); }
  /// residual_norm / rhs_norm; 0 where both are 0.
  double relative_residual() const { return residual_norm == 0 ? 0 : residual_norm / rhs_norm; }
};

/// What a batch_report is made of.
struct batch_report_fields {
  std::vector<system_outcome> systems;
  report_fields common;  ///< what a batch has one of; see batch_report
};

/// How the systems of a batch ended, each for a reason of its own. A value: a system that fails is no exception.
class batch_report {
 public:
  batch_report() = default;
  explicit batch_report(batch_report_fields fields);

  /// The number of systems.
  index_type size() const { return static_cast<index_type>(fields_.systems.size()); }
  /// System k, counted from 0. Throws whilst::error where there is none.
  const system_outcome& operator[](index_type k) const;
  /// All of them, for `for (const system_outcome& system : report)`.
  auto begin() const { return fields_.systems.begin(); }
  auto end() const { return fields_.systems.end(); }

  index_type number_converged() const { return number_converged_; }
  bool all_converged() const { return number_converged_ == size(); }
  /// The system to look at first: one that has not converged before any that has, then the one with the largest
  /// relative residual, where one that is not a number is the largest of all; the first of several.
  index_type worst() const { return worst_; }
  /// One line for a person: how many converged, and how the worst ended.
  std::string message() const;

  /// Seconds spent on copying the pattern, allocating and recording: once a solver, not once a solve.
  double setup_seconds() const { return fields_.common.setup_seconds; }
  /// Seconds from the first to the last system, on the clock of the device that ran them, without copies from and to
  /// the host. 0 where the solve was part of a captured graph, whose parts cannot be timed.
  double solve_seconds() const { return fields_.common.solve_seconds; }
  /// "batch".
  const std::string& executor() const { return fields_.common.executor; }
  const std::string& method() const { return fields_.common.method; }
  const std::string& preconditioner() const { return fields_.common.preconditioner; }
  /// "float" or "double".
  const std::string& precision() const { return fields_.common.precision; }
  /// Name of the device or processor.
  const std::string& device() const { return fields_.common.device; }
  /// Of one system.
  index_type rows() const { return fields_.common.rows; }
  index_type nonzeros() const { return fields_.common.nonzeros; }

 private:
  batch_report_fields fields_;
  index_type number_converged_ = 0, worst_ = 0;
};

/// A batch that was enqueued. Copies refer to the same batch. The solver must outlive its tickets.
class batch_ticket {
 public:
  /// Asks every system that still runs, or has not had its turn, to stop; each does within two iterations of its own,
  /// with reason cancelled. Systems that are done keep their reason, and other batches are not concerned: see
  /// ticket::cancel.
  void cancel() const;
  /// True when every system has stopped: then wait() waits for a copy only. After an enqueue into a capture: true from
  /// the end of the graph's first launch on.
  bool done() const;
  /// Waits for the batch, copies the outcomes from the device and tells how each system ended. Throws whilst::error if
  /// the device failed meanwhile. After an enqueue into a capture: the outcomes of the graph's latest launch, which
  /// must have completed.
  batch_report wait() const;

  explicit batch_ticket(std::shared_ptr<ticket::state> s) : state_(std::move(s)) {}

 private:
  std::shared_ptr<ticket::state> state_;
};

/// Solves many small systems A_k x_k = b_k at once, where the A_k share one pattern and have values of their own. A
/// thread, a warp or a block, by the number of rows, runs the whole loop of a system inside one kernel, and each system
/// stops when it is done, for its own reason. On the host threads share out the systems, and every system
/// yields the same bits for any number of them.
///
/// In memory the systems follow one another: values holds `systems` times the pattern's nonzeros, in the pattern's
/// order; b and x hold `systems` times its rows. x may be b; other overlaps of x, with b or with the values, throw
/// whilst::error. One solve at a time: a second one on another stream waits for the first. Threads may share it: see
/// replayed_solver, whose comments hold here, too.
template <class T>
class batch_linear_solver {
 public:
  /// Copies the pattern (its values are not used) to its place, takes the memory for `systems` systems and records the
  /// loop.
  ///
  /// Of the options, method, preconditioner, tolerances, max_iterations and device mean what they mean for one system;
  /// the deadline counts for the batch, from when its first system starts. executor may be "auto" (a GPU where there is
  /// one; WHILST_EXECUTOR=host counts too, its other executors are for single systems), "batch" (likewise) or "host"
  /// (the CPU). unroll, programmatic_launch and history_capacity have no meaning here: loops inside a kernel have no
  /// trips, and no history is kept.
  ///
  /// Throws whilst::error on a pattern that is not square, fewer than one system, an unknown method or preconditioner,
  /// or an executor that is not for batches.
  batch_linear_solver(const csr_matrix<T>& pattern, index_type systems, linear_solver_options options = {});
  ~batch_linear_solver();
  batch_linear_solver(batch_linear_solver&&) noexcept;
  batch_linear_solver& operator=(batch_linear_solver&&) noexcept;

  /// Solves with values, b and x in host memory; x holds the initial guesses and receives the solutions. Blocks. On a
  /// GPU the first call takes memory there for all three.
  batch_report solve(std::span<const T> values, std::span<const T> b, std::span<T> x);
  batch_report solve(const std::vector<T>& values, const std::vector<T>& b, std::vector<T>& x) {
    return solve(std::span<const T>(values), std::span<const T>(b), std::span<T>(x));
  }

  /// Enqueues a solve on `stream` and returns without waiting: values, b and x are device pointers (host pointers where
  /// the solver runs on the host, and then the solve has completed when this returns) that must stay valid until the
  /// solve is done; x holds the initial guesses. No synchronisation, and no allocation unless tickets of more than four
  /// solves are kept: outcomes stay in the device's memory, a place for each ticket that still refers to them, until
  /// wait() copies them. If `stream` is being captured, the batch becomes part of that graph, with these pointers; the
  /// solver must outlive it. Throws whilst::error on pointers that linear_solver::enqueue would not take.
  batch_ticket enqueue(stream_handle stream, const T* values, const T* b, T* x);

  void set_tolerances(double rtol, double atol);
  void set_max_iterations(index_type limit);
  void set_deadline(double seconds);

  /// Stops the batch in flight and those that wait for their turn, from any thread; see linear_solver::cancel.
  void cancel();

  /// The number of systems.
  index_type systems() const;
  /// "batch".
  const std::string& executor() const;
  /// Name of the device or processor that solves.
  const std::string& device() const;

 private:
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class batch_linear_solver<float>;
extern template class batch_linear_solver<double>;

}  // namespace whilst
