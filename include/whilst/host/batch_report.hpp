#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/reason.hpp"
#include "whilst/host/batch_outcomes.hpp"
#include "whilst/host/replayed_solver.hpp"

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
  double relative_residual() const { return residual_norm == 0 ? 0 : std::abs(residual_norm / rhs_norm); }
};

/// How the systems of a batch ended.
class batch_report : public batch_outcomes<system_outcome> {
 public:
  using batch_outcomes::batch_outcomes;
  /// One readable line: how many converged, and how the worst ended.
  std::string message() const { return message_about("system"); }
  const std::string& preconditioner() const { return common().preconditioner; }
  /// Per system.
  index_type rows() const { return common().rows; }
  index_type nonzeros() const { return common().nonzeros; }
};

/// An enqueued batch. Copies refer to the same batch. Once its solver has been destroyed, all members throw
/// whilst::error.
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
