#pragma once

#include <nanobind/nanobind.h>

namespace whilst::python {

/// Solvers of Python functions that enqueue their work on a GPU. The functions get streams and memory as addresses; the
/// package makes arrays of some library's of them.
void bind_called_functions(nanobind::module_& module);

}  // namespace whilst::python
