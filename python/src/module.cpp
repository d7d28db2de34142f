/// The module whilst._core: what the Python package is built on. Its functions expect arguments that the package has
/// checked and converted; nothing here is for users.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>

#include "python/src/batches.hpp"
#include "python/src/called_functions.hpp"
#include "python/src/gil.hpp"
#include "python/src/groups.hpp"
#include "python/src/linear_solver.hpp"
#include "python/src/nonlinear.hpp"
#include "python/src/reports.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/host/machine.hpp"
#include "whilst/linear/program_cache.hpp"
#include "whilst/version.hpp"

namespace nb = nanobind;

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // of what a user's program still holds when Python exits
  module.attr("__version__") = whilst::version;
  nb::exception<whilst::error>(module, "Error", PyExc_RuntimeError).attr("__doc__") =
      "What the library refuses, or could not do. The message says what was being done, what is wrong, and the cure.";
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const whilst::out_of_memory& problem) {
          PyErr_SetString(PyExc_MemoryError, problem.what());
        }
      },
      nullptr);
  module.def("default_options", [] { return whilst::options_to_string(whilst::linear_solver_options{}); });
  module.def(
      "reset", [] { whilst::reset(); }, nb::call_guard<whilst::python::without_gil>(),
      "Drops every recording that the functions keep, and its memory.");
  module.def("free_gpu_bytes", [] {  // for tests
#if WHILST_WITH_CUDA
    if (whilst::cuda::device_count() > 0) return whilst::cuda::free_bytes();
#endif
    return std::size_t{0};
  });
  module.def(
      "describe_cache", [] { return whilst::default_cache().describe(); },
      "What the functions keep from one call to the next: counters, and a line for each kind of recording.");
  module.def(
      "machine",
      [] {
        const whilst::machine_description found = [] {
          const whilst::python::without_gil free_others;
          return whilst::describe_machine();
        }();
        nb::dict executors;
        for (const whilst::executor_availability& one : found.executors)
          executors[one.name.c_str()] =
              one.available ? nb::object(nb::bool_(true)) : nb::object(nb::str(one.why_not.c_str()));
        nb::dict made;
        made["processor"] = found.processor;
        made["threads"] = found.threads;
        made["cuda_build"] = found.cuda_build;
        made["device"] = found.device;
        made["executors"] = executors;
        return made;
      },
      "What this machine can run: a dictionary. Its executors are True, or a sentence that says why not.");
  whilst::python::bind_reports(module);
  whilst::python::bind_linear_solvers(module);
  whilst::python::bind_batches(module);
  whilst::python::bind_nonlinear_solvers(module);
  whilst::python::bind_called_functions(module);
  whilst::python::bind_groups(module);
}
