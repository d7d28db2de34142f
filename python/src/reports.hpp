#pragma once

#include <nanobind/nanobind.h>

#include "whilst/host/report.hpp"

namespace whilst::python {

/// The fields of a report by name, with the history as two arrays: what whilst.Report is made from.
nanobind::dict fields_of(const report& done);

}  // namespace whilst::python
