#pragma once

#include <nanobind/nanobind.h>

namespace whilst::python {

/// Adds the classes of linear solvers, their matrices and tickets, for float and double.
void bind_linear_solvers(nanobind::module_& module);

}  // namespace whilst::python
