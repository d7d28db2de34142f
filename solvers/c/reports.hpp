#pragma once

#include "solvers/c/objects.hpp"
#include "whilst/host/columns_report.hpp"
#include "whilst/linear/eigenvalue_solver.hpp"
#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst::c {

report_content report_content_of(const report& report);
report_content report_content_of(const minimize_report& report);
report_content report_content_of(const nonlinear_report& report);
report_content report_content_of(const eigenvalue_report& report);
report_content report_content_of(const columns_report& report);

/// A ticket of the library's, whose wait() gives what report_content_of takes.
template <class Ticket>
ticket_content ticket_content_of(const Ticket& ticket) {
  return {[ticket] { return report_content_of(ticket.wait()); }, [ticket] { return ticket.done(); },
          [ticket] { ticket.cancel(); }};
}

}  // namespace whilst::c
