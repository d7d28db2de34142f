#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "whilst/host/report.hpp"
#include "whilst/nonlinear/descent/descent_report.hpp"

namespace whilst::python {

/// The fields of a report by name, with the history as two arrays: what whilst.Report is made from.
nanobind::dict fields_of(const report& done);
/// The same of a descent, with its own message.
nanobind::dict fields_of_descent(const descent_report& done, const std::string& message);

}  // namespace whilst::python
