#pragma once

#include <nanobind/nanobind.h>

namespace whilst::python {

/// Adds minimize and root, over functions in host memory.
void bind_nonlinear_solvers(nanobind::module_& module);

}  // namespace whilst::python
