#pragma once

#include <nanobind/nanobind.h>

namespace whilst::python {

/// Solvers of several right-hand sides, and of many small systems.
void bind_batches(nanobind::module_& module);

}  // namespace whilst::python
