#include "python/src/called_functions.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/callbacks.hpp"
#include "python/src/reports.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
#include "whilst/nonlinear/functions/called_equations.hpp"
#include "whilst/nonlinear/functions/called_objective.hpp"
#include "whilst/nonlinear/minimize/distributed_minimizer.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst::python {
namespace {

std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);  // NOLINT: the way in which Python's protocols take pointers
}

/// A Python function of the addresses of a stream and of memory, as a callback of the library's with these pointers.
template <class... Pointers>
struct enqueued {
  explicit enqueued(nb::object function) : call(std::move(function)) {}
  void operator()(stream_handle stream, index_type, Pointers... memory) const {
    const with_gil hold;
    call(address_of(stream), address_of(memory)...);
  }
  shared_function call;
};

/// A solver of a function of Python's, and the function, which the solver refers to.
template <class Function, class Solver, class Options>
struct called_solver {
  Function function;
  Solver solver;

  template <class... Callbacks>
  called_solver(int device, index_type n, const std::string& text, Callbacks... callbacks)
      : function(place::gpu(device), n, std::move(callbacks)...),
        solver(function, options_from_string<Options>(text)) {}
};
template <class T>
using called_minimizer = called_solver<called_objective<T>, minimizer<T>, minimizer_options>;
template <class T>
using called_root_solver = called_solver<called_equations<T>, nonlinear_solver<T>, nonlinear_solver_options>;

/// The same of several ranks, whose solver keeps the function.
template <class T>
struct called_distributed_minimizer {
  distributed_minimizer<T> solver;
};

template <class T, class Called>
nb::class_<Called> bind_called_solver(nb::module_& module, const std::string& name) {
  nb::class_<Called> bound(module, name.c_str());
  bound
      .def(
          "solve",
          [](Called& self, std::uintptr_t stream, std::uintptr_t x, bool check_signals) {
            return fields_of(watched(self.solver, nb::none(), check_signals,
                                     [&] { return self.solver.solve(stream_at(stream), to<T>(x)); }));
          },
          nb::arg("stream"), nb::arg("x"), nb::arg("check_signals"))
      .def(
          "enqueue",
          [](Called& self, std::uintptr_t stream, std::uintptr_t x) {
            // On the host it solves at once.
            return watched(self.solver, nb::none(), self.solver.executor() == "host",
                           [&] { return self.solver.enqueue(stream_at(stream), to<T>(x)); });
          },
          nb::arg("stream"), nb::arg("x"), nb::keep_alive<0, 1>())
      .def("executor", [](const Called& self) { return self.solver.executor(); })
      .def("explain", [](const Called& self) { return self.solver.explain(); })
      .def("memory", [](const Called& self) { return self.solver.memory().text(); });
  bind_limits(
      bound, [](Called & self) -> auto& { return self.solver; });
  return bound;
}

/// device: -1 for the host. evaluate: None on a rank without unknowns.
template <class T>
void bind_called_distributed_minimizer(nb::module_& module, const std::string& type) {
  using called = called_distributed_minimizer<T>;
  bind_called_solver<T, called>(module, "DistributedMinimizer" + type)
      .def(
          "__init__",
          [](called* made, const group& ranks, int device, index_type n, const input<std::int64_t>& ghosts,
             nb::object evaluate, const std::string& text, double peer_limit_seconds) {
            typename called_objective<T>::callback function;
            if (!evaluate.is_none()) function = enqueued<const T*, double*, T*>(std::move(evaluate));
            const without_gil free_others;
            minimizer_options options;
            ranks.agree("reading the options of a distributed minimizer",
                        [&] { options = options_from_string<minimizer_options>(text); });
            const auto read = span_of<std::int64_t>(ghosts);
            new (made) called{distributed_minimizer<T>(ranks, device < 0 ? place::host() : place::gpu(device), n,
                                                       std::vector<index_type>(read.begin(), read.end()),
                                                       std::move(function), options, peer_limit_seconds)};
          },
          nb::arg("group"), nb::arg("device"), nb::arg("n"), nb::arg("ghosts").noconvert(), nb::arg("evaluate").none(),
          nb::arg("options"), nb::arg("peer_limit_seconds"))
      .def(
          "recover", [](called& self) { self.solver.recover(); }, nb::call_guard<without_gil>())
      .def("transport", [](const called& self) { return self.solver.transport(); })
      .def("lost_rank", [](const called& self) { return self.solver.lost_rank(); });
}

template <class T>
void bind_called_solvers(nb::module_& module, const std::string& type) {
  bind_called_solver<T, called_minimizer<T>>(module, "Minimizer" + type)
      .def(
          "__init__",
          [](called_minimizer<T>* made, int device, index_type n, nb::object evaluate, nb::object product,
             const std::string& text) {
            new (made) called_minimizer<T>(device, n, text, enqueued<const T*, double*, T*>(std::move(evaluate)),
                                           product.is_none() ? typename called_objective<T>::product_callback()
                                                             : enqueued<const T*, const T*, T*>(std::move(product)));
          },
          nb::arg("device"), nb::arg("n"), nb::arg("evaluate"), nb::arg("product").none(), nb::arg("options"));
  bind_called_solver<T, called_root_solver<T>>(module, "RootSolver" + type)
      .def(
          "__init__",
          [](called_root_solver<T>* made, int device, index_type n, nb::object evaluate, const std::string& text) {
            new (made) called_root_solver<T>(device, n, text, enqueued<const T*, T*>(std::move(evaluate)));
          },
          nb::arg("device"), nb::arg("n"), nb::arg("evaluate"), nb::arg("options"));
  // A: a matrix; or None, and `apply` and, where it is not None, `apply_transposed` are its products.
  module.def(("solver_of_called_" + type).c_str(),
             [](const nb::object& A, index_type rows, index_type columns, nb::object apply, nb::object apply_transposed,
                nb::object M, const std::string& text, const std::string& preconditioner) {
               using callback = enqueued<const T*, T*>;
               auto options = options_from_string<linear_solver_options>(text);
               options.preconditioner = preconditioner;
               options.callback_memory = "device";
               if (!A.is_none()) return linear_solver<T>(nb::cast<csr_matrix<T>>(A), callback(std::move(M)), options);
               if (!apply_transposed.is_none())
                 return linear_solver<T>(rows, columns, callback(std::move(apply)),
                                         callback(std::move(apply_transposed)), options);
               if (!M.is_none())
                 return linear_solver<T>(rows, callback(std::move(apply)), callback(std::move(M)), options);
               return linear_solver<T>(rows, callback(std::move(apply)), options);
             },
             nb::arg("A").none(), nb::arg("rows"), nb::arg("columns"), nb::arg("apply").none(),
             nb::arg("apply_transposed").none(), nb::arg("M").none(), nb::arg("options"), nb::arg("preconditioner"),
             nb::keep_alive<0, 1>());
}

}  // namespace

void bind_called_functions(nb::module_& module) {
  bind_called_solvers<float>(module, "Float");
  bind_called_solvers<double>(module, "Double");
  bind_called_distributed_minimizer<float>(module, "Float");
  bind_called_distributed_minimizer<double>(module, "Double");
}

}  // namespace whilst::python
