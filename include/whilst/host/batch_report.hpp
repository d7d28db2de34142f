#pragma once

#include <memory>
#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/reason.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/host/report.hpp"

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

/// The content of a batch_report.
struct batch_report_fields {
  std::vector<system_outcome> systems;
  report_fields common;  ///< shared by the whole batch; see batch_report
};

/// How the systems of a batch ended, each with its own reason. A value: a system that fails throws no exception.
class batch_report {
 public:
  batch_report() = default;
  explicit batch_report(batch_report_fields fields);

  /// The number of systems.
  index_type size() const { return static_cast<index_type>(fields_.systems.size()); }
  /// System k, counted from 0. Throws whilst::error if there is none.
  const system_outcome& operator[](index_type k) const;
  /// All of them, for `for (const system_outcome& system : report)`.
  auto begin() const { return fields_.systems.begin(); }
  auto end() const { return fields_.systems.end(); }

  index_type number_converged() const { return number_converged_; }
  bool all_converged() const { return number_converged_ == size(); }
  /// The system to look at first: any that has not converged before any that has, then the one with the largest
  /// relative residual, NaN counting as the largest; the first in a tie.
  index_type worst() const { return worst_; }
  /// One readable line: how many converged, and how the worst ended.
  std::string message() const;

  /// Seconds spent copying the pattern, allocating and recording: once per solver, not once per solve.
  double setup_seconds() const { return fields_.common.setup_seconds; }
  /// Seconds from the first to the last system, on the clock of the device that ran them, without copies to and from
  /// the host. 0 if the solve was part of a captured graph, whose parts cannot be timed.
  double solve_seconds() const { return fields_.common.solve_seconds; }
  /// "batch".
  const std::string& executor() const { return fields_.common.executor; }
  const std::string& method() const { return fields_.common.method; }
  const std::string& preconditioner() const { return fields_.common.preconditioner; }
  /// "float" or "double".
  const std::string& precision() const { return fields_.common.precision; }
  /// Name of the device or processor.
  const std::string& device() const { return fields_.common.device; }
  /// Per system.
  index_type rows() const { return fields_.common.rows; }
  index_type nonzeros() const { return fields_.common.nonzeros; }

 private:
  batch_report_fields fields_;
  index_type number_converged_ = 0, worst_ = 0;
};

/// An enqueued batch. Copies refer to the same batch. The solver must outlive its tickets.
class batch_ticket {
 public:
  /// Asks every system that is running or waiting for its turn to stop; each does within two of its own iterations,
  /// with reason cancelled. Systems that are done keep their reason, and other batches are unaffected: see
  /// ticket::cancel.
  void cancel() const;
  /// True once every system has stopped: then wait() only waits for a copy. After an enqueue into a capture: true from
  /// the end of the graph's first launch on.
  bool done() const;
  /// Waits for the batch, copies the outcomes from the device and reports how each system ended. Throws whilst::error
  /// if the device failed meanwhile. After an enqueue into a capture: the outcomes of the graph's latest launch, which
  /// must have completed.
  batch_report wait() const;

  explicit batch_ticket(std::shared_ptr<ticket::state> s) : state_(std::move(s)) {}

 private:
  std::shared_ptr<ticket::state> state_;
};

}  // namespace whilst
