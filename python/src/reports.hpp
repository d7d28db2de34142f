#pragma once

#include <nanobind/nanobind.h>

#include "whilst/host/report.hpp"
#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst::python {

/// Binds the library's report, whose fields are read all at once: it costs less than a dictionary that nobody reads.
void bind_reports(nanobind::module_& module);

/// The fields of a report by name, with the history as two arrays: those of whilst.Report.
nanobind::dict fields_of(const report& done);
/// The same with what a minimization and a solve of equations tell besides.
nanobind::dict fields_of(const minimize_report& done);
nanobind::dict fields_of(const nonlinear_report& done);

}  // namespace whilst::python
