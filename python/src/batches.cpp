#include "python/src/batches.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/callbacks.hpp"
#include "python/src/kept_thread.hpp"
#include "whilst/linear/batch_linear_solver.hpp"
#include "whilst/linear/columns_linear_solver.hpp"

namespace whilst::python {
namespace {

/// What whilst.BatchReport is made from.
template <class Report>
nb::dict fields_of_several(const Report& done, std::string_view note) {
  const auto text = [](std::string_view from) { return nb::str(from.data(), from.size()); };
  nb::list reasons;
  std::vector<std::int64_t> iterations;
  std::vector<double> residual_norms, rhs_norms;
  for (const system_outcome& one : done) {
    reasons.append(text(name(one.reason)));
    iterations.push_back(one.iterations);
    residual_norms.push_back(one.residual_norm);
    rhs_norms.push_back(one.rhs_norm);
  }
  nb::dict fields;
  fields["reason"] = reasons;
  fields["iterations"] = array_of(iterations.data(), iterations.size());
  fields["residual_norm"] = array_of(residual_norms.data(), residual_norms.size());
  fields["rhs_norm"] = array_of(rhs_norms.data(), rhs_norms.size());
  fields["message"] = text(done.message());
  fields["setup_seconds"] = done.setup_seconds();
  fields["solve_seconds"] = done.solve_seconds();
  fields["method"] = text(done.method());
  fields["preconditioner"] = text(done.preconditioner());
  fields["executor"] = text(done.executor());
  fields["precision"] = text(done.precision());
  fields["device"] = text(done.device());
  fields["note"] = text(note);
  return fields;
}

/// What `solve` returns, without the GIL. These solvers have no monitor: where Ctrl-C may come, another thread solves,
/// and this one cancels it.
template <class Solver, class Solve>
auto solved_without_gil(Solver& solver, const Solve& solve) {
  signal_check check;
  const without_gil free_others;
  if (!check.may_throw()) return solve();
  return called_beside(solve, check, [&] { solver.cancel(); });
}

template <class T>
void bind_both(nb::module_& module, const char* name_of_columns, const char* name_of_batch) {
  using columns = columns_linear_solver<T>;
  nb::class_<columns> of_columns(module, name_of_columns);
  of_columns
      .def(
          "__init__",
          [](columns* made, const csr_matrix<T>& A, index_type number, const std::string& text,
             const std::string& preconditioner) {
            const linear_solver_options options = read_options(text, preconditioner);
            const without_gil free_others;
            new (made) columns(A, number, options);
          },
          nb::keep_alive<1, 2>())
      .def(
          "solve",
          [](columns& self, const input<T>& B, const output<T>& X) {
            const columns_report done =
                solved_without_gil(self, [&] { return self.solve(span_of<T>(B), span_to<T>(X)); });
            return fields_of_several(done, done.note());
          },
          nb::arg("B").noconvert(), nb::arg("X").noconvert())
      .def("solve_on_device",
           [](columns& self, std::uintptr_t stream, std::uintptr_t B, std::uintptr_t X) {
             const columns_report done =
                 solved_without_gil(self, [&] { return self.solve(stream_at(stream), at<T>(B), to<T>(X)); });
             return fields_of_several(done, done.note());
           })
      .def("set_tolerances", &columns::set_tolerances, nb::call_guard<without_gil>());
  bind_limits(of_columns);

  using batch = batch_linear_solver<T>;
  nb::class_<batch> of_batch(module, name_of_batch);
  of_batch
      .def(
          "__init__",
          [](batch* made, const csr_matrix<T>& A, index_type systems, const std::string& text,
             const std::string& preconditioner) {
            const linear_solver_options options = read_options(text, preconditioner);
            const without_gil free_others;
            new (made) batch(A, systems, options);
          },
          nb::keep_alive<1, 2>())
      .def(
          "solve",
          [](batch& self, const input<T>& values, const input<T>& b, const output<T>& x) {
            const batch_report done =
                solved_without_gil(self, [&] { return self.solve(span_of<T>(values), span_of<T>(b), span_to<T>(x)); });
            return fields_of_several(done, "");
          },
          nb::arg("values").noconvert(), nb::arg("b").noconvert(), nb::arg("x").noconvert())
      .def("solve_on_device",
           [](batch& self, std::uintptr_t stream, std::uintptr_t values, std::uintptr_t b, std::uintptr_t x) {
             const batch_ticket started = [&] {
               const without_gil free_others;
               return self.enqueue(stream_at(stream), at<T>(values), at<T>(b), to<T>(x));
             }();
             return fields_of_several(wait_for(started), "");
           })
      .def("executor", [](const batch& self) { return self.executor(); })
      .def("set_tolerances", &batch::set_tolerances, nb::call_guard<without_gil>());
  bind_limits(of_batch);
}

}  // namespace

void bind_batches(nb::module_& module) {
  bind_both<float>(module, "ColumnsFloat", "BatchFloat");
  bind_both<double>(module, "ColumnsDouble", "BatchDouble");
}

}  // namespace whilst::python
