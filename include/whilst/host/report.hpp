#pragma once

#include <string>
#include <utility>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/history_record.hpp"
#include "whilst/engine/control/reason.hpp"

namespace whilst {

/// The content of a report; see whilst::report for what each field means.
struct report_fields {
  whilst::reason reason = whilst::reason::running;
  index_type iterations = 0;
  double residual_norm = 0;
  double rhs_norm = 0;
  double normal_residual_norm = 0;
  double removed_norm = 0;
  double setup_seconds = 0;
  double solve_seconds = 0;
  double loop_seconds = 0;
  std::string method, preconditioner, executor, precision, device, note, choice;
  std::string format, format_choice, preconditioner_choice;
  index_type rows = 0, nonzeros = 0;
  int lanes = 1;  ///< of a batch: threads that worked on each problem
  std::vector<history_record> history;
};

/// How a solve ended: a value, never an exception.
class report {
 public:
  report() = default;
  explicit report(report_fields fields) : fields_(std::move(fields)) {}

  bool converged() const { return whilst::converged(fields_.reason); }
  whilst::reason reason() const { return fields_.reason; }
  /// One readable line: how it ended, after how many iterations, at what residual.
  std::string message() const;
  /// Completed updates of x, over all restarts.
  index_type iterations() const { return fields_.iterations; }
  /// ||b - A x||_2, recomputed from x at the end, not the recurrence's estimate.
  double residual_norm() const { return fields_.residual_norm; }
  /// residual_norm() / rhs_norm(); 0 where both are 0.
  double relative_residual() const;
  /// ||b||_2.
  double rhs_norm() const { return fields_.rhs_norm; }
  /// Of lsqr, lsmr and cgls: ||A'(b - A x)||_2, recomputed like residual_norm(); 0 of other methods. After a cancel or
  /// a deadline, that of the last x for which it was.
  double normal_residual_norm() const { return fields_.normal_residual_norm; }
  /// With a null space: the norm of the part of b in it, which was removed, and which no A x can be if A is symmetric;
  /// rounding if b was consistent. The norms above are those of P (b - A x) and P b: see linear_solver_options.
  double removed_norm() const { return fields_.removed_norm; }
  /// Seconds spent copying the matrix, allocating, recording and instantiating: once per solver, not once per solve.
  double setup_seconds() const { return fields_.setup_seconds; }
  /// Seconds from when b and x have been read to the last step of the solve, on the clock of the device that ran it.
  double solve_seconds() const { return fields_.solve_seconds; }
  /// The part of solve_seconds() spent in the method's own loop, including its start, over all restarts: without the
  /// checks of the true residual.
  double loop_seconds() const { return fields_.loop_seconds; }
  /// loop_seconds() / iterations(); 0 for no iterations.
  double seconds_per_iteration() const;
  /// The executor that actually ran: host, stream, graph, resident or batch.
  const std::string& executor() const { return fields_.executor; }
  /// The method that ran; under "auto" the last one.
  const std::string& method() const { return fields_.method; }
  /// With its settings where preconditioner "auto" chose it; then the last one.
  const std::string& preconditioner() const { return fields_.preconditioner; }
  /// "float" or "double".
  const std::string& precision() const { return fields_.precision; }
  /// Name of the device or processor.
  const std::string& device() const { return fields_.device; }
  /// Anything the caller should know, such as a fallback to another executor; usually empty.
  const std::string& note() const { return fields_.note; }
  /// Under method or preconditioner "auto": which ran, and why these. Otherwise empty.
  const std::string& choice() const { return fields_.choice; }
  /// How the matrix was stored: see linear_solver_options. Empty where there was none.
  const std::string& format() const { return fields_.format; }
  /// Under format "auto": which one was taken, and why. Otherwise empty.
  const std::string& format_choice() const { return fields_.format_choice; }
  /// Of a preconditioner that is made from the matrix: what was made, "amg, 4 levels of ...", "ilu, 12345 nonzeros,
  /// ..."; else empty.
  const std::string& preconditioner_choice() const { return fields_.preconditioner_choice; }
  index_type rows() const { return fields_.rows; }
  index_type nonzeros() const { return fields_.nonzeros; }
  /// Residual norms by iteration, oldest first. At most history_capacity records: when full, every other one is
  /// dropped, and from then on only every other one is kept. Empty if the solver has launched another solve since.
  const std::vector<history_record>& history() const { return fields_.history; }

  /// All of the above as a value.
  const report_fields& fields() const { return fields_; }

 private:
  report_fields fields_;
};

}  // namespace whilst
