#pragma once

#include <memory>
#include <string>
#include <utility>

#include "whilst/host/batch_report.hpp"

namespace whilst {

/// How the columns of a solve with several right-hand sides ended, each with a reason, iterations and norms of its own.
class columns_report : public batch_outcomes<system_outcome> {
 public:
  using batch_outcomes::batch_outcomes;
  /// One readable line: how many columns converged, and how the worst ended.
  std::string message() const { return message_about("column"); }
  /// The same about one column, counted from 0: how it ended, after how many iterations, at what residual.
  std::string message(index_type column) const { return text_of((*this)[column]); }
  const std::string& preconditioner() const { return common().preconditioner; }
  /// What was made as preconditioner, in words, and why "auto" chose it; empty for none and jacobi by name.
  const std::string& preconditioner_choice() const { return common().preconditioner_choice; }
  index_type rows() const { return common().rows; }
  index_type nonzeros() const { return common().nonzeros; }
  /// Anything the caller should know; if the columns were solved one after another, that and why.
  const std::string& note() const { return common().note; }
};

/// An enqueued solve of several columns. Copies refer to the same solve. Once its solver has been destroyed, all
/// members throw whilst::error.
class columns_ticket {
 public:
  /// Asks the solve to stop, for all columns: those that still run end with reason cancelled, the others keep theirs.
  /// See ticket::cancel.
  void cancel() const;
  /// True once every column has stopped: then wait() only waits for a copy. See ticket::done.
  bool done() const;
  /// Waits for the solve and reports how each column ended. Throws whilst::error if the device failed meanwhile. For a
  /// solve in a captured graph: see ticket::wait.
  columns_report wait() const;

  explicit columns_ticket(std::shared_ptr<ticket::state> s) : state_(std::move(s)) {}

 private:
  std::shared_ptr<ticket::state> state_;
};

}  // namespace whilst
