#pragma once

#include <nanobind/nanobind.h>

namespace whilst::python {

/// Adds groups of ranks, and the matrices and solvers that lie on them, for float and double.
void bind_groups(nanobind::module_& module);

}  // namespace whilst::python
